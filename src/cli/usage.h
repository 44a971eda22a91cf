#pragma once
/// Wrong usage, told so that the user can mend it.
#include <CLI/CLI.hpp>
#include <string>

namespace assay::cli {

/// Throws UsageError for an unknown verb or a long option that the verb does not have, naming the
/// nearest. CLI11 reports both late and without a suggestion.
void check_words(const CLI::App& app, int argc, const char* const* argv);

/// What CLI11 found wrong, as one sentence that says where help is.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace assay::cli
