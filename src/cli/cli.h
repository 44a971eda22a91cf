#pragma once
/// The room for the program: one file a verb. Each parses its words, calls the library and prints.
/// This header is what the verbs share: how they are added, and which exit codes there are.
#include <functional>
#include <stdexcept>
#include <string>

#include "assay/error.h"

namespace assay::cli {

class Console;
struct Parser;

/// What the program returns; docs/cli.md lists them for users.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kBadInput = 3,
  kUnsupported = 4,
};

/// The exit code for an error of the library's.
ExitCode exit_code(ErrorKind kind);
/// "bad_input", "unsupported", ...: the kind as --json prints it.
const char* kind_name(ErrorKind kind);

/// The words on the command line make no sense together (exit 2).
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a verb does once its words are parsed: prints to the console, returns the exit code.
using Action = std::function<ExitCode(Console&)>;

/// Each adds one verb; parsing that verb sets the parser's action.
void add_build(Parser& parser);
void add_calibrate(Parser& parser);
void add_tune(Parser& parser);
void add_run(Parser& parser);
void add_eval(Parser& parser);
void add_preprocess(Parser& parser);
void add_inspect(Parser& parser);
void add_verify(Parser& parser);
void add_families(Parser& parser);
void add_bench(Parser& parser);
void add_sensitivity(Parser& parser);
void add_study(Parser& parser);
void add_validate(Parser& parser);
void add_version(Parser& parser);

/// Parses the command line, runs the verb, reports what it throws. Never throws.
ExitCode run_program(int argc, const char* const* argv);

}  // namespace assay::cli
