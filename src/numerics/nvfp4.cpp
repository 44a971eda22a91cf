#include "numerics/nvfp4.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::numerics {
namespace {

constexpr double kLargestCode = 6;
constexpr double kLargestScale = 448;

}  // namespace

float Nvfp4::tensor_scale(float amax) {
  const auto scale = static_cast<float>(amax / (kLargestScale * kLargestCode));
  return scale < std::numeric_limits<float>::min() ? 1.0F : scale;
}

E4m3::Code Nvfp4::block_scale(std::span<const float> block, float tensor_scale) {
  double amax = 0;
  for (const float number : block) amax = std::max(amax, std::abs(static_cast<double>(number)));
  return E4m3::encode(static_cast<float>(amax / kLargestCode / tensor_scale));
}

void Nvfp4::encode(std::span<const float> block, E4m3::Code block_scale, float tensor_scale,
                   std::span<E2m1::Code> codes) {
  const float scale = E4m3::decode(block_scale) * tensor_scale;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const double number = block[i];
    codes[i] = scale > 0 ? E2m1::encode(static_cast<float>(number / scale)) : E2m1::Code{0};
  }
}

}  // namespace assay::numerics
