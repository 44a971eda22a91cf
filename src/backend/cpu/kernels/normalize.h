#pragma once
#include <array>
#include <cstdint>

namespace assay::backend::cpu {

/// out = (rgb / 255 - mean) / std, channel by channel, for `pixels` interleaved pixels. Each
/// operation is rounded to fp32, so the bits are those of torchvision's ToTensor and Normalize.
/// Single-threaded; no overlap.
void normalize_rgb(const std::uint8_t* rgb, float* out, std::int64_t pixels,
                   const std::array<float, 3>& mean, const std::array<float, 3>& std);

}  // namespace assay::backend::cpu
