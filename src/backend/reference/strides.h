#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace assay::backend::reference {

/// Elements between two neighbours along each axis; graph::verify() allows eight axes at most.
inline std::array<std::int64_t, 8> strides_of(std::span<const std::int64_t> dims) {
  std::array<std::int64_t, 8> strides{};
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis > 0; --axis) {
    strides[axis - 1] = stride;
    stride *= dims[axis - 1];
  }
  return strides;
}

}  // namespace assay::backend::reference
