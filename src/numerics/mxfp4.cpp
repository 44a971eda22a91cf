#include "numerics/mxfp4.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::numerics {

float E8m0::decode(Code code) {
  if (code == kNan) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, code - kBias);
}

E8m0::Code Mxfp4::block_scale(std::span<const float> block) {
  constexpr int kLargestExponent = 2;  // of 6 = 1.5 × 2²
  float amax = 0;
  for (const float number : block) {
    if (!std::isfinite(number)) return E8m0::kNan;
    amax = std::max(amax, std::abs(number));
  }
  if (amax == 0) return 0;
  const int exponent = std::ilogb(amax) - kLargestExponent;
  return static_cast<E8m0::Code>(std::clamp(exponent + E8m0::kBias, 0, E8m0::kNan - 1));
}

void Mxfp4::encode(std::span<const float> block, E8m0::Code scale, std::span<E2m1::Code> codes) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    codes[i] = scale == E8m0::kNan
                   ? E2m1::Code{0}
                   : E2m1::encode(std::ldexp(block[i], E8m0::kBias - static_cast<int>(scale)));
  }
}

}  // namespace assay::numerics
