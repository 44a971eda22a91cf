#pragma once
/// bf16: the upper half of an fp32, with fp32's range and its specials.
#include <bit>
#include <cstdint>

namespace assay::numerics {

struct Bf16 {
  using Code = std::uint16_t;

  /// The number that `code` stands for; exact.
  static constexpr float decode(Code code) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
  }

  /// The nearest code, ties to the even one. NaN keeps its sign and becomes quiet; half a step or
  /// more beyond the largest number becomes infinity.
  static constexpr Code encode(float number) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
      return static_cast<Code>((bits >> 31 << 15) | 0x7FC0U);
    }
    const std::uint32_t odd = (bits >> 16) & 1U;
    return static_cast<Code>((bits + 0x7FFFU + odd) >> 16);
  }
};

}  // namespace assay::numerics
