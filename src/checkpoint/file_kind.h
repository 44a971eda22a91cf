#pragma once
/// What a file seems to be that was taken for safetensors and is not.
#include <cstddef>
#include <span>
#include <string_view>

namespace assay::checkpoint {

/// A sentence about what `bytes` look like and what to do about it, or "" where nothing is known.
std::string_view describe_foreign_file(std::span<const std::byte> bytes);

}  // namespace assay::checkpoint
