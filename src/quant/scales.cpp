#include "quant/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::quant {
namespace {

/// Below it a scale's inverse would not be a number; so small a range is as good as 0.
constexpr float kSmallestScale = std::numeric_limits<float>::min();
constexpr float kLargestE4m3 = 448;

}  // namespace

numerics::AffineU8 affine_for(Range range) {
  const double low = std::min(range.low, 0.0F);
  const double high = std::max(range.high, 0.0F);
  const auto scale = static_cast<float>((high - low) / 255);
  if (scale < kSmallestScale) return {1.0F, 0};
  return {scale, static_cast<std::uint8_t>(std::clamp(std::nearbyint(-low / scale), 0.0, 255.0))};
}

float e4m3_scale_for(Range range) {
  const float scale = std::max(std::abs(range.low), std::abs(range.high)) / kLargestE4m3;
  return scale < kSmallestScale ? 1.0F : scale;
}

}  // namespace assay::quant
