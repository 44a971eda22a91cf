#pragma once
/// Whether what a safetensors header says of its tensors can be true of the bytes behind it.
#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors_header.h"

namespace assay::checkpoint {

/// Checks that no name is there twice, that each tensor's shape × dtype is the length of its range,
/// and that the ranges cover `data_size` bytes exactly. Throws bad_input or corrupt naming `file`
/// and the tensor.
void check_layout(const std::vector<HeaderEntry>& tensors, std::uint64_t data_size,
                  std::string_view file);

}  // namespace assay::checkpoint
