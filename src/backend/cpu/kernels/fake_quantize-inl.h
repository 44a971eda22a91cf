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

/// The nearest number of E4M3, ties to the even code, beyond the largest the largest. Adding a
/// number whose last place is E4M3's step at x's exponent, and taking it off again, rounds so.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoundToE4m3(D d, V x) {
  const hn::RebindToUnsigned<D> bits;
  constexpr float kLargest = 448.0F;
  constexpr float kSmallestNormal = 1.0F / 64;
  constexpr float kStepToSum = 1.5F * (1 << 20);  // 2^23 / 2^3, and a half for negative numbers
  const V clamped = hn::Clamp(x, hn::Set(d, -kLargest), hn::Set(d, kLargest));
  const V power = hn::BitCast(d, hn::And(hn::BitCast(bits, clamped), hn::Set(bits, 0x7F800000U)));
  const V sum = hn::Mul(hn::Max(power, hn::Set(d, kSmallestNormal)), hn::Set(d, kStepToSum));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Sub(hn::Add(clamped, sum), sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
