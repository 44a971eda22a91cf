/// Rounding to E4M3 in vectors of fp32. For use inside HWY_NAMESPACE.
#if defined(ASSAY_BACKEND_CPU_KERNELS_FAKE_QUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_FAKE_QUANTIZE_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_FAKE_QUANTIZE_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_FAKE_QUANTIZE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// x, of a magnitude up to 2^100, rounded to kMantissaBits, ties to even, with the same step for
/// all numbers below `smallest_normal`. Adding a number whose last place is the step at x's
/// exponent, and taking it off again, rounds so.
template <int kMantissaBits, class D, class V = hn::Vec<D>>
HWY_INLINE V RoundMantissa(D d, V x, float smallest_normal) {
  const hn::RebindToUnsigned<D> bits;
  constexpr float kStepToSum = 1.5F * (1 << (23 - kMantissaBits));  // a half for negative numbers
  const V power = hn::BitCast(d, hn::And(hn::BitCast(bits, x), hn::Set(bits, 0x7F800000U)));
  const V sum = hn::Mul(hn::Max(power, hn::Set(d, smallest_normal)), hn::Set(d, kStepToSum));
  return hn::Sub(hn::Add(x, sum), sum);
}

/// The nearest number of E4M3, ties to the even code, beyond the largest the largest.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoundToE4m3(D d, V x) {
  constexpr float kLargest = 448.0F;
  const V clamped = hn::Clamp(x, hn::Set(d, -kLargest), hn::Set(d, kLargest));
  return hn::IfThenElse(hn::IsNaN(x), x, RoundMantissa<3>(d, clamped, 0x1p-6F));
}

/// The nearest number of fp16, ties to the even code, from half a step beyond the largest on
/// infinity.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoundToFp16(D d, V x) {
  constexpr float kBeyond = 65536.0F;  // what the largest would be followed by
  const V clamped = hn::Clamp(x, hn::Set(d, -kBeyond), hn::Set(d, kBeyond));
  const V rounded = RoundMantissa<10>(d, clamped, 0x1p-14F);
  const auto infinite = hn::Ge(hn::Abs(rounded), hn::Set(d, kBeyond));
  const V bounded = hn::IfThenElse(infinite, hn::CopySign(hn::Inf(d), x), rounded);
  return hn::IfThenElse(hn::IsNaN(x), x, bounded);
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
