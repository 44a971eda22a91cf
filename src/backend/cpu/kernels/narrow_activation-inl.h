/// GELU and SiLU as accurate as bf16 and int8 operands need: errors below 2e-4 of the result or of
/// 1/100, whichever is larger. Finite for every finite input; NaN stays NaN. For use inside
/// HWY_NAMESPACE.
#if defined(ASSAY_BACKEND_CPU_KERNELS_NARROW_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_NARROW_ACTIVATION_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_NARROW_ACTIVATION_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_NARROW_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "backend/cpu/kernels/vector_math-inl.h"
#include "backend/cpu/kernels/vector_math_tables.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 1 / x within 2^-11 for normal x with a normal inverse.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoughReciprocal(D d, V x) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  (void)d;
  return hn::ApproximateReciprocal(x);
#else
  return hn::Div(hn::Set(d, 1.0F), x);
#endif
}

/// 1 / (1 + 2^-(x · factor)) for |x · factor| <= 126.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoughLogistic(D d, V x, V factor) {
  const auto [integer, power] = PowerOfSum(d, hn::NegMulAdd(x, factor, hn::Set(d, kRounder)));
  const V fraction = hn::NegMulAdd(x, factor, hn::Neg(integer));
  const V h = Polynomial(d, fraction, kFastExp2);
  const V one = hn::Set(d, 1.0F);
  return RoughReciprocal(d, hn::MulAdd(power, hn::MulAdd(fraction, h, one), one));
}

/// x / (1 + e^-x).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V FastSilu(D d, V x) {
  const V bounded = AtMost(d, 87.0F, AtLeast(d, -87.0F, x));
  // Below -87 the result is less than 2e-36; -87 times the logistic function stands for all of it.
  return hn::Mul(AtLeast(d, -87.0F, x), RoughLogistic(d, bounded, hn::Set(d, 1.44269504F)));
}

/// x Phi(x), Phi the normal distribution, whose log-odds are fitted by an odd polynomial.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V FastGelu(D d, V x) {
  const V above = AtLeast(d, -6.0F, x);
  const V bounded = AtMost(d, 6.0F, above);
  const V slope = Polynomial(d, hn::Mul(bounded, bounded), kFastGelu);
  return hn::Mul(above, RoughLogistic(d, bounded, slope));
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
