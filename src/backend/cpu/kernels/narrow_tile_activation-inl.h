// GELU and SiLU to about 2^-12, for results that are rounded to 8 bits next, over several vectors
// side by side (tile_activation-inl.h says why). Finite for every finite x; NaN stays NaN.
#if defined(ASSAY_BACKEND_CPU_KERNELS_NARROW_TILE_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_NARROW_TILE_ACTIVATION_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_NARROW_TILE_ACTIVATION_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_NARROW_TILE_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "backend/cpu/kernels/narrow_tables.h"
#include "backend/cpu/kernels/vector_math-inl.h"
#include "graph/graph.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// kCount vectors; each step of a computation is written for all of them before the next.
template <class D, int kCount>
struct Side {
  using V = hn::Vec<D>;
  V at[kCount];

  template <class Function>
  HWY_INLINE void each(const Function& function) {
    for (int i = 0; i < kCount; ++i) at[i] = function(i);
  }
};

/// c[0] + c[1] x + ... of each.
template <class D, int kCount, std::size_t kTerms>
HWY_INLINE Side<D, kCount> short_polynomial(D d, const Side<D, kCount>& x,
                                            const float (&c)[kTerms]) {
  Side<D, kCount> sum;
  sum.each([&](int) HWY_ATTR { return hn::Set(d, c[kTerms - 1]); });
  for (std::size_t t = kTerms - 1; t-- > 0;) {
    const auto term = hn::Set(d, c[t]);
    sum.each([&](int i) HWY_ATTR { return hn::MulAdd(sum.at[i], x.at[i], term); });
  }
  return sum;
}

#if HWY_TARGET == HWY_AVX3

/// 2^x within 8e-5, relatively: infinite from 128 on, 0 far below, denormal between.
template <class D, int kCount>
HWY_INLINE Side<D, kCount> short_exp2(D d, const Side<D, kCount>& x) {
  Side<D, kCount> fraction;
  // x less its floor, and at the end times two to that floor: both are one instruction.
  fraction.each([&](int i) HWY_ATTR { return hn::Vec<D>{_mm512_reduce_ps(x.at[i].raw, 0x09)}; });
  Side<D, kCount> power = short_polynomial(d, fraction, kPowerAbove);
  power.each([&](int i)
                 HWY_ATTR { return hn::Vec<D>{_mm512_scalef_ps(power.at[i].raw, x.at[i].raw)}; });
  return power;
}

/// 1 / x within 2^-14, relatively; 0 of infinity, exact of 1.
template <class D>
HWY_INLINE hn::Vec<D> short_reciprocal(D /*d*/, hn::Vec<D> x) {
  return hn::Vec<D>{_mm512_rcp14_ps(x.raw)};
}

#else

/// 2^x within 8e-5, relatively; 0 below -126.5, and infinite from 127.5 on, where it may also be
/// large.
template <class D, int kCount>
HWY_INLINE Side<D, kCount> short_exp2(D d, const Side<D, kCount>& x) {
  Side<D, kCount> bounded;
  Side<D, kCount> whole;
  Side<D, kCount> fraction;
  bounded.each([&](int i) HWY_ATTR { return AtMost(d, 128.0F, AtLeast(d, -127.0F, x.at[i])); });
  whole.each([&](int i) HWY_ATTR { return hn::Add(bounded.at[i], hn::Set(d, kRounder)); });
  fraction.each([&](int i) HWY_ATTR {
    return hn::Sub(bounded.at[i], hn::Sub(whole.at[i], hn::Set(d, kRounder)));
  });
  Side<D, kCount> power = short_polynomial(d, fraction, kPowerAround);
  const hn::RebindToUnsigned<D> du;
  power.each([&](int i) HWY_ATTR {
    const auto scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, whole.at[i])));
    return hn::Mul(power.at[i], scale);
  });
  return power;
}

template <class D>
HWY_INLINE hn::Vec<D> short_reciprocal(D d, hn::Vec<D> x) {
  return hn::Div(hn::Set(d, 1.0F), x);
}

#endif

/// x / (1 + 2^(-x log2 e)).
template <class D, int kCount>
HWY_INLINE void short_silu(D d, Side<D, kCount>& x) {
  Side<D, kCount> e;
  e.each([&](int i) HWY_ATTR { return hn::Mul(x.at[i], hn::Set(d, -1.44269504F)); });
  e = short_exp2(d, e);
  e.each([&](int i) HWY_ATTR { return hn::Add(e.at[i], hn::Set(d, 1.0F)); });
  e.each([&](int i) HWY_ATTR { return short_reciprocal(d, e.at[i]); });
  x.each([&](int i) HWY_ATTR { return hn::Mul(x.at[i], e.at[i]); });
}

/// |x| up to 11, where Q is 2^-106: further out it would soon be denormal, which costs a core some
/// 250 cycles a vector. NaN may become 11.
template <class D>
HWY_INLINE hn::Vec<D> bounded_size(D d, hn::Vec<D> x) {
  const auto bound = hn::Set(d, 11.0F);
#if HWY_TARGET == HWY_AVX3
  constexpr int kSmallerSizeWithoutSign = 0x0A;
  return hn::Vec<D>{_mm512_range_ps(x.raw, bound.raw, kSmallerSizeWithoutSign)};
#else
  return hn::Min(hn::Abs(x), bound);
#endif
}

/// x Phi(x) = max(x, 0) - |x| Q(|x|), Q the normal distribution's upper tail as 2 to a polynomial.
/// -1e-31 stands for all that is below x = -11.
template <class D, int kCount>
HWY_INLINE void short_gelu(D d, Side<D, kCount>& x) {
  Side<D, kCount> size;
  size.each([&](int i) HWY_ATTR { return bounded_size(d, x.at[i]); });
  const Side<D, kCount> tail = short_exp2(d, short_polynomial(d, size, kShortTail));
  x.each([&](int i)
             HWY_ATTR { return hn::NegMulAdd(size.at[i], tail.at[i], AtLeast(d, 0.0F, x.at[i])); });
}

template <graph::Activation kActivation, class D, int kCount>
HWY_INLINE void short_activation(D d, Side<D, kCount>& x) {
  if constexpr (kActivation == graph::Activation::silu) short_silu(d, x);
  if constexpr (kActivation == graph::Activation::gelu) short_gelu(d, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
