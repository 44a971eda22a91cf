#pragma once
/// Which preprocessing a bundle may ask for.
#include <string>

#include "image/image.h"

namespace assay::bundle {

/// Pixels a side of a network's input.
inline constexpr int kMaxInputSide = 4096;
/// A tiny share would have images resized to huge ones before they are cropped.
inline constexpr double kMinCropPct = 0.01;
inline constexpr double kMaxCropPct = 100;

/// What is wrong with `transform`, in words, or nothing: sizes and crop_pct out of range, mean and
/// std by which pixels do not stay finite.
std::string problem_of(const image::Transform& transform);

}  // namespace assay::bundle
