#pragma once
/// What a verb checks of -o before it does any work.
#include <filesystem>
#include <span>
#include <string>

namespace assay::cli {

/// Throws UsageError where `output` is "-", and Error(bad_input) naming both where it is one of
/// `inputs`, by whatever name: writing it would destroy what is being read.
void check_output(const std::string& output, std::span<const std::filesystem::path> inputs);

}  // namespace assay::cli
