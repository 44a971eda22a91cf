#pragma once
/// int8 as the engine uses it: affine u8 for activations, symmetric s8 for weights.
#include <cmath>
#include <cstdint>

namespace assay::numerics {

/// number = scale × (code - zero_point), codes 0 to 255. `scale` is positive and finite.
struct AffineU8 {
  float scale = 1;
  std::uint8_t zero_point = 0;

  /// The nearest code, ties to the even one; saturates, NaN becomes code 0. Computed as
  /// number × (1 / scale) + zero_point rounded, so that kernels get the same bits.
  [[nodiscard]] std::uint8_t encode(float number) const {
    const float inverse = 1.0F / scale;
    // Clamped before it is rounded: what is far outside does not fit an integer.
    const float code = std::fma(number, inverse, static_cast<float>(zero_point));
    if (!(code > 0)) return 0;
    return code >= 255 ? 255 : static_cast<std::uint8_t>(std::nearbyint(code));
  }
  [[nodiscard]] float decode(std::uint8_t code) const {
    return scale * static_cast<float>(static_cast<int>(code) - static_cast<int>(zero_point));
  }
  bool operator==(const AffineU8&) const = default;
};

}  // namespace assay::numerics
