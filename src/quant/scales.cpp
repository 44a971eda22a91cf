#include "quant/scales.h"

#include <algorithm>
#include <cmath>

#include "numerics/e4m3.h"

namespace assay::quant {

float largest_magnitude(const Range& range) {
  return std::max(std::abs(range.low), std::abs(range.high));
}

float largest_magnitude(std::span<const float> numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

numerics::AffineU8 affine_for(Range range) {
  const double low = std::min(range.low, 0.0F);
  const double high = std::max(range.high, 0.0F);
  const auto scale = static_cast<float>((high - low) / 255);
  if (scale < kSmallestScale) return {1.0F, 0};
  return {scale, static_cast<std::uint8_t>(std::clamp(std::nearbyint(-low / scale), 0.0, 255.0))};
}

float e4m3_scale_for(Range range) {
  const float scale = largest_magnitude(range) / numerics::E4m3::largest();
  return scale < kSmallestScale ? 1.0F : scale;
}

}  // namespace assay::quant
