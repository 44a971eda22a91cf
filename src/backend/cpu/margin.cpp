#include "backend/cpu/margin.h"

#include <algorithm>

namespace assay::backend::cpu {

void copy_rows(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
               std::int64_t rows, std::int64_t width) {
  if (from_stride == width && to_stride == width) {
    std::copy_n(from, rows * width, to);
    return;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(from + row * from_stride, width, to + row * to_stride);
  }
}

void zero_margin(const Place& place, float* image, const Range& lines) {
  const std::int64_t side = place.margin_width * place.row_stride;
  const std::int64_t inner = place.line_rows * place.row_stride;
  for (std::int64_t line = lines.begin; line < lines.end; ++line) {
    const std::int64_t y = line - place.margin_height;
    float* const start = image + y * place.line_stride;
    if (y < 0 || y >= place.lines()) {
      std::fill_n(start - side, inner + 2 * side, 0.0F);
    } else {
      std::fill_n(start - side, side, 0.0F);
      std::fill_n(start + inner, side, 0.0F);
    }
  }
}

}  // namespace assay::backend::cpu
