#pragma once
/// How names that come from a file appear in a message.
#include <string>
#include <string_view>

namespace assay::checkpoint {

/// `name` in single quotes: control characters and bytes outside ASCII that are not UTF-8 become
/// \xNN, and whatever is longer than 120 bytes is cut with "...", so that no file can write to a
/// terminal or fill a log through an error message.
std::string quote(std::string_view name);

}  // namespace assay::checkpoint
