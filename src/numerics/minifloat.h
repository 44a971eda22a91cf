#pragma once
/// The arithmetic that the small binary floating-point formats share: sign, exponent, mantissa,
/// subnormals, as IEEE 754 lays them out. Each format is a Minifloat with its own widths; see
/// fp16.h, e4m3.h, e5m2.h and e2m1.h.
#include <bit>
#include <cstdint>
#include <limits>

namespace assay::numerics {

/// Whether the largest exponent is kept for infinity and NaN (IEEE 754), holds ordinary numbers but
/// for the all-ones code, which is NaN (OCP 8-bit Floating Point Specification, E4M3), or holds
/// nothing but ordinary numbers (OCP Microscaling Formats, E2M1).
enum class Specials { ieee, nan_only, none };

template <typename CodeType, int kExponentBits, int kMantissaBits, Specials kSpecials>
struct Minifloat {
  using Code = CodeType;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr std::uint32_t kMagnitudeMask = (1U << (kExponentBits + kMantissaBits)) - 1;
  static constexpr std::uint32_t kExponentMask = kMagnitudeMask >> kMantissaBits << kMantissaBits;
  /// The largest finite number's code.
  static constexpr std::uint32_t kMax = kSpecials == Specials::ieee       ? kExponentMask - 1
                                        : kSpecials == Specials::nan_only ? kMagnitudeMask - 1
                                                                          : kMagnitudeMask;
  /// What NaN becomes: the largest number where the format has none.
  static constexpr std::uint32_t kNan =
      kSpecials == Specials::ieee ? kExponentMask | (1U << (kMantissaBits - 1)) : kMagnitudeMask;
  /// What a number too large becomes: infinity, or the largest number where there is none.
  static constexpr std::uint32_t kOverflow = kSpecials == Specials::ieee ? kExponentMask : kMax;

  /// The largest finite number.
  static constexpr float largest() { return decode(static_cast<Code>(kMax)); }

  /// The number that `code` stands for; exact.
  static constexpr float decode(Code code) {
    const std::uint32_t sign = static_cast<std::uint32_t>(code >> (kExponentBits + kMantissaBits))
                               << 31;
    const std::uint32_t magnitude = code & kMagnitudeMask;
    if (magnitude > kMax) {
      const bool infinite = kSpecials == Specials::ieee && magnitude == kExponentMask;
      return std::bit_cast<float>(sign | (infinite ? 0x7F800000U : 0x7FC00000U));
    }
    // An exponent field of 0 has no implied bit: its step is that of exponent field 1. Adding the
    // implied bit and taking it off again in fp32 is exact and needs no normalization.
    const bool subnormal = (magnitude & kExponentMask) == 0;
    const std::uint32_t shifted =
        ((subnormal ? magnitude | (1U << kMantissaBits) : magnitude) << kShift) + kRebias;
    const float value = std::bit_cast<float>(shifted);
    const float result = subnormal ? value - kSmallestNormal : value;
    return sign != 0 ? -result : result;
  }

  /// The nearest code, ties to the even one. NaN keeps its sign and becomes kNan. What lies beyond
  /// the largest number by half a step or more, infinity included, becomes kOverflow.
  static constexpr Code encode(float number) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    const std::uint32_t sign = bits >> 31 << (kExponentBits + kMantissaBits);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<Code>(sign | kNan);
    std::uint32_t code = 0;
    if (magnitude >= kRebias + (1U << 23)) {  // a normal number of the small format, or too large
      code = shift_to_even(magnitude - kRebias, kShift);
      if (code > kMax) code = kOverflow;
    } else {
      const int drop = kShift + 1 + kRebiasExponent - static_cast<int>(magnitude >> 23);
      // At 25 or more even the largest significand is below half the smallest step.
      if (drop < 25) code = shift_to_even((magnitude & 0x7FFFFFU) | 0x800000U, drop);
    }
    return static_cast<Code>(sign | code);
  }

 private:
  static constexpr int kShift = 23 - kMantissaBits;
  static constexpr int kRebiasExponent = 127 - kBias;
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(kRebiasExponent) << 23;
  static constexpr float kSmallestNormal = std::bit_cast<float>(kRebias + (1U << 23));
  static_assert(kExponentBits < 8, "the format must be narrower than fp32 in its exponent");

  static constexpr std::uint32_t shift_to_even(std::uint32_t value, int shift) {
    const std::uint32_t odd = (value >> shift) & 1U;
    return (value + (1U << (shift - 1)) - 1 + odd) >> shift;
  }
};

}  // namespace assay::numerics
