#pragma once
/// Whole gzip files, with their checksums checked.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace assay::pipeline {

bool is_gzip(std::span<const std::byte> file);

/// The content of a gzip file of one or more members, at most `limit` bytes. `what` names it in
/// messages. Throws corrupt (truncated, checksum, trailing bytes) or bad_input (larger).
std::vector<std::byte> gunzip(std::span<const std::byte> file, std::uint64_t limit,
                              std::string_view what);

}  // namespace assay::pipeline
