#include "bundle/transform_limits.h"

#include <fmt/format.h>

#include <cmath>

namespace assay::bundle {

std::string problem_of(const image::Transform& transform) {
  const int height = transform.input_height;
  const int width = transform.input_width;
  if (height < 1 || width < 1 || height > kMaxInputSide || width > kMaxInputSide)
    return fmt::format("input size {} x {}: expected two numbers in 1 ... {}", height, width,
                       kMaxInputSide);
  if (!(transform.crop_pct >= kMinCropPct && transform.crop_pct <= kMaxCropPct))
    return fmt::format("crop_pct {}: expected {} ... {}", transform.crop_pct, kMinCropPct,
                       kMaxCropPct);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    // Backends normalize in fp32.
    const auto mean = static_cast<float>(transform.mean[channel]);
    const auto std = static_cast<float>(transform.std[channel]);
    if (!std::isfinite(mean / std) || !std::isfinite(1 / std))
      return fmt::format("mean {} and std {} of channel {}: pixels would not stay finite",
                         transform.mean[channel], transform.std[channel], channel);
  }
  return {};
}

}  // namespace assay::bundle
