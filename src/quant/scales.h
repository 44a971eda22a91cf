#pragma once
/// From the range of an operand to the scale of its codes.
#include <limits>
#include <span>

#include "numerics/int8.h"
#include "quant/calibration.h"

namespace assay::quant {

/// Below it a scale's inverse would not be a number; so small a range is as good as 0.
inline constexpr float kSmallestScale = std::numeric_limits<float>::min();

float largest_magnitude(const Range& range);
/// 0 for no numbers.
float largest_magnitude(std::span<const float> numbers);

/// The code of an input that was seen to span `range`, which is widened to hold 0, so that zeros
/// (padding is made of them) stay exact: scale (high - low) / 255, the zero point rounded to
/// nearest even. A range of nothing but 0 gets scale 1.
numerics::AffineU8 affine_for(Range range);

/// The scale of E4M3 codes: the range's largest magnitude becomes 448, E4M3's largest number. A
/// range of nothing but 0 gets scale 1.
float e4m3_scale_for(Range range);

}  // namespace assay::quant
