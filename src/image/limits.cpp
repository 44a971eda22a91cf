#include "image/limits.h"

#include <fmt/format.h>

#include <cmath>

namespace assay::image {

std::string problem_of(const Transform& transform) {
  constexpr double kMinCropPct = 0.01;
  constexpr double kMaxCropPct = 100;
  const auto in_range = [](int side) { return side >= 1 && side <= kMaxInputSide; };
  if (!in_range(transform.input_height) || !in_range(transform.input_width))
    return fmt::format("the input size is {} × {}, expected two numbers from 1 to {}",
                       transform.input_height, transform.input_width, kMaxInputSide);
  if (!(transform.crop_pct >= kMinCropPct && transform.crop_pct <= kMaxCropPct))
    return fmt::format("crop_pct is {}, expected a share from {} to {}", transform.crop_pct,
                       kMinCropPct, kMaxCropPct);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    // Images are normalized in fp32.
    const auto mean = static_cast<float>(transform.mean[channel]);
    const auto std = static_cast<float>(transform.std[channel]);
    if (!(transform.std[channel] > 0) || !std::isfinite(mean / std) || !std::isfinite(1 / std))
      return fmt::format(
          "channel {} has mean {} and std {}: expected a std above 0, and numbers by which pixels "
          "stay finite in fp32",
          channel, transform.mean[channel], transform.std[channel]);
  }
  return {};
}

}  // namespace assay::image
