/// Vector exp and GELU for fp32 lanes, for use inside HWY_NAMESPACE of a translation unit
/// that is compiled for several targets. Every function is templated on the Highway tag D and works
/// on whole vectors of any width; NaN stays NaN. The polynomials are fitted by
/// tools/fit-polynomials.py.
#if defined(ASSAY_BACKEND_CPU_KERNELS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_VECTOR_MATH_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_VECTOR_MATH_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_VECTOR_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "backend/cpu/kernels/vector_math_tables.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// c[0] + c[1] x + ... by Horner's rule.
template <class D, std::size_t kCount, class V = hn::Vec<D>>
HWY_INLINE V Polynomial(D d, V x, const float (&c)[kCount]) {
  V sum = hn::Set(d, c[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

/// The same as an even and an odd polynomial of x squared: one multiplication more, and half as
/// long a chain of dependent ones, of which a core can overlap only so many.
template <class D, std::size_t kCount, class V = hn::Vec<D>>
HWY_INLINE V LongPolynomial(D d, V x, const float (&c)[kCount]) {
  const V square = hn::Mul(x, x);
  V last = hn::Set(d, c[kCount - 1]);
  V other = hn::Set(d, c[kCount - 2]);
  std::size_t i = kCount - 2;
  for (; i >= 2; i -= 2) {
    last = hn::MulAdd(last, square, hn::Set(d, c[i - 1]));
    other = hn::MulAdd(other, square, hn::Set(d, c[i - 2]));
  }
  // Down to c[0] and c[1], or to c[1] and a c[0] that the other series still lacks.
  if (i == 0) return hn::MulAdd(last, x, other);
  return hn::MulAdd(other, x, hn::MulAdd(last, square, hn::Set(d, c[0])));
}

/// The larger of a bound and x, the smaller of them; NaN in x stays. On x86 a maximum or minimum is
/// its second operand where either is NaN; elsewhere that is not said.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtLeast(D d, float bound, V x) {
  const V limit = hn::Set(d, bound);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return hn::Max(limit, x);
#else
  return hn::IfThenElse(hn::Lt(x, limit), limit, x);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtMost(D d, float bound, V x) {
  const V limit = hn::Set(d, bound);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return hn::Min(limit, x);
#else
  return hn::IfThenElse(hn::Gt(x, limit), limit, x);
#endif
}

/// An integer, as the number nearest to an x, and two to its power. Adding 1.5 * 2^23 to x leaves
/// the integer in the low bits of the sum; 127 more makes those bits the exponent of the power of
/// two, so that one shift builds it. Right for -127 <= x <= 127; -127 gives the power 0.
template <class D, class V = hn::Vec<D>>
struct Power {
  V integer;
  V power;
};
constexpr float kRounder = 12582912.0F + 127.0F;

/// From x + kRounder.
template <class D, class V = hn::Vec<D>>
HWY_INLINE Power<D> PowerOfSum(D d, V sum) {
  const hn::RebindToUnsigned<D> du;
  return {hn::Sub(sum, hn::Set(d, kRounder)),
          hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, sum)))};
}

/// 2^x for -127 <= x <= 0 within 2 ulp; what would be below 2^-126.5 is 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2Bounded(D d, V x) {
  const auto [integer, power] = PowerOfSum(d, hn::Add(x, hn::Set(d, kRounder)));
  const V fraction = hn::Sub(x, integer);
  const V h = Polynomial(d, fraction, kExp2);
  return hn::Mul(power, hn::MulAdd(fraction, h, hn::Set(d, 1.0F)));
}

/// 2^x for x <= 0, -infinity included, within 2 ulp; what would be below 2^-126.5 is 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2NonPositive(D d, V x) {
  return Exp2Bounded(d, AtLeast(d, -127.0F, x));
}

/// e^x for -88.03 <= x <= 88.03, within 2 ulp, given the argument's own power of two. The reduction
/// is Cody and Waite's: ln 2 in two parts, the first with so few bits that its product is exact.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpReduced(D d, V x, V integer) {
  V r = hn::NegMulAdd(integer, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(integer, hn::Set(d, -2.12194440e-4F), r);
  const V g = Polynomial(d, r, kExp);
  return hn::MulAdd(hn::Mul(r, r), g, hn::Add(r, hn::Set(d, 1.0F)));
}

/// e^x for x <= 0, -infinity included, within 2 ulp; what would be below 2^-126.5 is 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpNonPositive(D d, V x) {
  x = AtLeast(d, -88.029F, x);
  const V sum = hn::MulAdd(x, hn::Set(d, 1.44269504F), hn::Set(d, kRounder));
  const auto [integer, power] = PowerOfSum(d, sum);
  return hn::Mul(power, ExpReduced(d, x, integer));
}

/// e^x for any x within 2 ulp: infinite above 88.72, denormal below -87.3, then 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  x = AtMost(d, 89.0F, AtLeast(d, -104.0F, x));
  const V magic = hn::Set(d, 12582912.0F);
  const V sum = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
  // Two powers, since 2^-150 and 2^128 are no normal numbers but their halves' powers are.
  const auto n = hn::Sub(hn::BitCast(di, sum), hn::BitCast(di, magic));
  const auto half = hn::ShiftRight<1>(n);
  const auto bias = hn::Set(di, 127);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(n, half), bias)));
  const V reduced = ExpReduced(d, x, hn::Sub(sum, magic));
  return hn::Mul(hn::Mul(reduced, first), second);
}

/// 1 / x for normal x with a normal inverse, within 2 ulp. A 512-bit division occupies its unit for
/// 16 cycles; there an approximation to 14 bits and one step of Newton's are far cheaper.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Reciprocal(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  const V guess = hn::ApproximateReciprocal(x);
  return hn::MulAdd(guess, hn::NegMulAdd(x, guess, hn::Set(d, 1.0F)), guess);
#else
  return hn::Div(hn::Set(d, 1.0F), x);
#endif
}

/// x Phi(x), Phi the normal distribution: the exact GELU, 0.5 x (1 + erf(x / sqrt 2)) (Hendrycks
/// and Gimpel 2016). The tail 1 - Phi(|x|) is 2 to a polynomial, so small results keep their
/// relative accuracy: within 5 ulp for x > -2, and absolutely within 3e-8 below. -infinity gives
/// NaN, as the formula does.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Gelu(D d, V x) {
  const V t = hn::Min(hn::Set(d, 13.0F), hn::Abs(x));
  const V q = LongPolynomial(d, t, kNormalTail);
  const V tail = Exp2Bounded(d, hn::MulAdd(t, q, hn::Set(d, -1.0F)));
  const auto negative = hn::Lt(x, hn::Zero(d));
  const V phi = hn::IfThenElse(negative, tail, hn::Sub(hn::Set(d, 1.0F), tail));
  return hn::Mul(x, phi);
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
