#include "cli/cli.h"

int main(int argc, char** argv) { return assay::cli::run_program(argc, argv); }
