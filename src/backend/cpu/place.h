#pragma once
/// Where a value's numbers lie.
#include <cstdint>

namespace assay::backend::cpu {

/// A value as rows of its last axis. Rows come in lines: an image's line is one row of pixels, and
/// a margin of zeros may lie between lines for convolutions that reach over the edge. Everything is
/// counted in floats.
struct Place {
  int block = -1;  ///< of memory: see Blocks
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;  ///< numbers in a row
  std::int64_t row_stride = 0;
  std::int64_t line_rows = 0;  ///< rows in a line; equal to `rows` where there is one line
  std::int64_t line_stride = 0;
  /// Zeroed pixels that lie around the image, above and below and left and right.
  std::int64_t margin_height = 0;
  std::int64_t margin_width = 0;

  [[nodiscard]] std::int64_t lines() const { return line_rows == 0 ? 0 : rows / line_rows; }
  [[nodiscard]] std::int64_t count() const { return rows * width; }
  /// Where row `row` starts, from `offset`.
  [[nodiscard]] std::int64_t offset_of(std::int64_t row) const {
    if (single_line()) return row * row_stride;
    return row / line_rows * line_stride + row % line_rows * row_stride;
  }
  /// From one row of an image's pixels, `image_width` of them, to the next. An image of one line
  /// may have a margin, too: what counts is whether lines are kept apart.
  [[nodiscard]] std::int64_t line_of(std::int64_t image_width) const {
    return line_rows == image_width ? line_stride : image_width * row_stride;
  }
  /// How many rows from `row` on lie at one stride.
  [[nodiscard]] std::int64_t run_from(std::int64_t row) const {
    return single_line() ? rows - row : line_rows - row % line_rows;
  }
  /// One stride leads through all rows.
  [[nodiscard]] bool single_line() const {
    return rows == line_rows || line_stride == line_rows * row_stride;
  }
  /// Nothing lies between the numbers.
  [[nodiscard]] bool dense() const { return row_stride == width && single_line(); }
};

/// A dense place at the start of `block`.
inline Place dense_place(int block, std::int64_t rows, std::int64_t width) {
  return {block, 0, rows, width, width, rows, rows * width, 0, 0};
}

}  // namespace assay::backend::cpu
