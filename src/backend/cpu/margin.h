#pragma once
/// Copies and zeros between places.
#include <cstdint>

#include "backend/cpu/place.h"
#include "backend/cpu/step.h"

namespace assay::backend::cpu {

/// Copies `rows` rows of `width` floats, each at its own stride.
void copy_rows(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
               std::int64_t rows, std::int64_t width);

/// Zeroes the margin around an image whose first number is `image`: of the lines in `lines`,
/// counted from the topmost line of the margin.
void zero_margin(const Place& place, float* image, const Range& lines);

}  // namespace assay::backend::cpu
