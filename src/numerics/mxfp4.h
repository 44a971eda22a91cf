#pragma once
/// MXFP4 of the OCP Microscaling Formats (MX) Specification, revision 1.0: E2M1 numbers in blocks
/// of 32 that share a power of two, stored as E8M0. A number format only: no backend computes with
/// it.
#include <cstdint>
#include <span>

#include "numerics/e2m1.h"

namespace assay::numerics {

/// E8M0: code - 127 is the exponent of a power of two; 255 is NaN.
struct E8m0 {
  using Code = std::uint8_t;
  static constexpr int kBias = 127;
  static constexpr Code kNan = 0xFF;
  static float decode(Code code);
};

struct Mxfp4 {
  static constexpr int kBlock = 32;

  /// The specification's section 6.3: the exponent of the largest magnitude, less that of E2M1's
  /// largest number (2), kept within E8M0. NaN where the block has a NaN or an infinity; a block of
  /// zeros has the smallest scale.
  static E8m0::Code block_scale(std::span<const float> block);

  /// The nearest code of each number, ties to the even one; saturates. All 0 where the scale is
  /// NaN, which says enough. `codes` is as long as `block`.
  static void encode(std::span<const float> block, E8m0::Code scale, std::span<E2m1::Code> codes);

  static float decode(E2m1::Code code, E8m0::Code scale) {
    return E2m1::decode(code) * E8m0::decode(scale);
  }
};

}  // namespace assay::numerics
