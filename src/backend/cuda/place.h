#pragma once
/// Where a value's numbers lie.
#include <cstdint>

#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

/// A piece of memory that values share: a region of a session's arena, one such region an image, or
/// constants of the plan, which all images read.
struct Block {
  std::int64_t numbers = 0;  ///< of one image
  Store store = Store::f16;
  std::int64_t offset = 0;  ///< in bytes, for one image: in the arena, or among the constants
  bool constant = false;

  /// From one image to the next, in bytes.
  [[nodiscard]] std::int64_t bytes() const {
    constexpr std::int64_t kAlignment = 256;
    return (numbers * bytes_of(store) + kAlignment - 1) / kAlignment * kAlignment;
  }
};

/// A value as rows of its last axis, counted in numbers.
///
/// Where `map_width` is not 0 the value's dims are [patch × patch, N, C], and yet its rows are the
/// pixels of a map `map_width` wide in their order: place (y, x) of patch (i, j) is the pixel
/// (i × patch + y, j × patch + x). So MobileViT's unfolded tokens stay where the convolution wrote
/// them; what works row by row need not know (Mehta and Rastegari, arXiv 2110.02178, section 3.1).
struct Place {
  int block = -1;
  std::int64_t offset = 0;  ///< of row 0
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t row_stride = 0;
  std::int64_t map_width = 0;
  std::int64_t patch = 0;

  /// Rows are not in the value's own order.
  [[nodiscard]] bool unfolded() const { return map_width != 0; }
  /// The numbers are in the value's own order, and nothing lies between them.
  [[nodiscard]] bool dense() const {
    return !unfolded() && (row_stride == width || rows == 1 || block < 0);
  }
  bool operator==(const Place&) const = default;
};

/// A dense place at the start of `block`.
inline Place dense_place(int block, std::int64_t rows, std::int64_t width) {
  return {block, 0, rows, width, width};
}

/// Columns [begin, begin + width).
inline Place columns_of(Place place, std::int64_t begin, std::int64_t width) {
  place.offset += begin;
  place.width = width;
  return place;
}

/// Rows [begin, begin + rows).
inline Place rows_of(Place place, std::int64_t begin, std::int64_t rows) {
  place.offset += begin * place.row_stride;
  place.rows = rows;
  return place;
}

/// Whether rows of both are in one order.
inline bool same_order(const Place& a, const Place& b) {
  return a.map_width == b.map_width && a.patch == b.patch;
}

/// Whether some number lies in both.
inline bool overlap(const Place& a, const Place& b) {
  if (a.block != b.block || a.block < 0) return false;
  const auto apart = [](std::int64_t begin, std::int64_t end, std::int64_t other_begin,
                        std::int64_t other_end) {
    return end <= other_begin || other_end <= begin;
  };
  const auto end_of = [](const Place& p) {
    return p.offset + (p.rows - 1) * p.row_stride + p.width;
  };
  if (apart(a.offset, end_of(a), b.offset, end_of(b))) return false;
  const std::int64_t stride = a.row_stride;
  const std::int64_t left = a.offset % stride;
  const std::int64_t right = b.offset % stride;
  if (stride != b.row_stride || left + a.width > stride || right + b.width > stride) return true;
  return !apart(left, left + a.width, right, right + b.width);
}

}  // namespace assay::backend::cuda
