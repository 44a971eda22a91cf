#pragma once
/// The program's words as CLI11 knows them; for the three files that pay for its templates.
#include <CLI/CLI.hpp>

#include "cli/cli.h"

namespace assay::cli {

/// Every verb's words, and what the verb that was given does.
struct Parser {
  CLI::App app;
  Action action;  ///< empty until a verb parses
};

}  // namespace assay::cli
