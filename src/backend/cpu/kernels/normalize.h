#pragma once
#include <array>
#include <cstdint>

namespace assay::backend::cpu {

/// What each 8-bit value of each channel becomes.
using RgbTable = std::array<std::array<float, 256>, 3>;

/// (value / 255 - mean) / std, channel by channel. Each operation is rounded to fp32, so the bits
/// are those of torchvision's ToTensor and Normalize.
RgbTable rgb_table(const std::array<float, 3>& mean, const std::array<float, 3>& std);

/// Looks up `pixels` interleaved pixels. Single-threaded; no overlap.
void normalize_rgb(const std::uint8_t* rgb, float* out, std::int64_t pixels, const RgbTable& table);

}  // namespace assay::backend::cpu
