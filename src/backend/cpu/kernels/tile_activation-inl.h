// GELU and SiLU over several vectors at once, for inclusion per Highway target.
//
// One vector's activation is a chain of some twenty dependent operations. A core can hold only
// about a hundred waiting operations, so chains that are written one behind the other hardly
// overlap: GELU was measured at 55 cycles a vector with AVX-512, where its operations need 17.
// Written side by side they keep the units busy.
#if defined(ASSAY_BACKEND_CPU_KERNELS_TILE_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_TILE_ACTIVATION_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_TILE_ACTIVATION_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_TILE_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "backend/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors that are worked on side by side: as many as the registers hold with their constants.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kAbreast = 6;
#else
inline constexpr int kAbreast = 3;
#endif

template <class D, int kCount = kAbreast>
struct Abreast {
  using V = hn::Vec<D>;
  V lane[kCount];

  /// Each vector becomes `function` of itself.
  template <class Function>
  HWY_INLINE void each(const Function& function) {
    for (int i = 0; i < kCount; ++i) lane[i] = function(i);
  }
};

/// 2^x for −126 <= x <= 127: x becomes fraction and integer, and 2^fraction a polynomial.
template <class D, int kCount>
HWY_INLINE Abreast<D, kCount> exp2_abreast(D d, const Abreast<D, kCount>& x) {
  using V = hn::Vec<D>;
  const hn::RebindToUnsigned<D> du;
  const V rounder = hn::Set(d, kRounder);
  Abreast<D, kCount> power;
  Abreast<D, kCount> fraction;
  Abreast<D, kCount> h;
  power.each([&](int i) HWY_ATTR { return hn::Add(x.lane[i], rounder); });
  fraction.each([&](int i)
                    HWY_ATTR { return hn::Sub(x.lane[i], hn::Sub(power.lane[i], rounder)); });
  power.each([&](int i) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, power.lane[i])));
  });
  constexpr int kTerms = static_cast<int>(sizeof(kExp2) / sizeof(kExp2[0]));
  h.each([&](int) HWY_ATTR { return hn::Set(d, kExp2[kTerms - 1]); });
  for (int t = kTerms - 2; t >= 0; --t) {
    const V c = hn::Set(d, kExp2[t]);
    h.each([&](int i) HWY_ATTR { return hn::MulAdd(h.lane[i], fraction.lane[i], c); });
  }
  const V one = hn::Set(d, 1.0F);
  h.each([&](int i) HWY_ATTR { return hn::MulAdd(h.lane[i], fraction.lane[i], one); });
  h.each([&](int i) HWY_ATTR { return hn::Mul(h.lane[i], power.lane[i]); });
  return h;
}

/// SiLU, x / (1 + e^-x) (Elfwing, Uchibe and Doya 2017), the power as 2^(−x log2 e). Its exponent
/// is rounded once, so a result errs by 4 ulp and |x| ulp more where it is small itself: by less
/// than 5e-8 absolutely, for any x. As the formula and torch have it, what is below −88 gives −0
/// and −infinity gives NaN: the power is infinite there, and its inverse 0.
template <class D, int kCount>
HWY_INLINE void silu_abreast(D d, Abreast<D, kCount>& x) {
  using V = hn::Vec<D>;
  Abreast<D, kCount> e;
  hn::Mask<D> finite[kCount];
  const V scale = hn::Set(d, -1.44269504F);
  const V largest = hn::Set(d, 127.0F);
  e.each([&](int i) HWY_ATTR { return hn::Mul(x.lane[i], scale); });
  for (int i = 0; i < kCount; ++i) finite[i] = hn::Lt(e.lane[i], largest);
  e.each([&](int i) HWY_ATTR { return AtLeast(d, -126.0F, e.lane[i]); });
  e = exp2_abreast(d, e);
  const V one = hn::Set(d, 1.0F);
  e.each([&](int i) HWY_ATTR { return hn::Add(e.lane[i], one); });
  e.each([&](int i) HWY_ATTR { return hn::IfThenElseZero(finite[i], Reciprocal(d, e.lane[i])); });
  x.each([&](int i) HWY_ATTR { return hn::Mul(x.lane[i], e.lane[i]); });
}

/// The same of one vector.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Silu(D d, V x) {
  Abreast<D, 1> alone{{x}};
  silu_abreast(d, alone);
  return alone.lane[0];
}

/// The same arithmetic as Gelu()'s.
template <class D>
HWY_INLINE void gelu_abreast(D d, Abreast<D>& x) {
  using V = hn::Vec<D>;
  constexpr int kTerms = static_cast<int>(sizeof(kNormalTail) / sizeof(kNormalTail[0]));
  const V bound = hn::Set(d, 13.0F);
  Abreast<D> t;
  Abreast<D> q;
  t.each([&](int i) HWY_ATTR { return hn::Min(bound, hn::Abs(x.lane[i])); });
  q.each([&](int) HWY_ATTR { return hn::Set(d, kNormalTail[kTerms - 1]); });
  for (int k = kTerms - 2; k >= 0; --k) {
    const V c = hn::Set(d, kNormalTail[k]);
    q.each([&](int i) HWY_ATTR { return hn::MulAdd(q.lane[i], t.lane[i], c); });
  }
  const V minus_one = hn::Set(d, -1.0F);
  q.each([&](int i) HWY_ATTR { return hn::MulAdd(q.lane[i], t.lane[i], minus_one); });
  q = exp2_abreast(d, q);
  const V one = hn::Set(d, 1.0F);
  x.each([&](int i) HWY_ATTR {
    const auto negative = hn::Lt(x.lane[i], hn::Zero(d));
    const V phi = hn::IfThenElse(negative, q.lane[i], hn::Sub(one, q.lane[i]));
    return hn::Mul(x.lane[i], phi);
  });
}

/// Applies `function` to `count` vectors that lie one behind the other, in place; `tile` is long
/// enough for whole groups of kAbreast.
template <class D, class Function>
HWY_INLINE void for_groups(D d, float* tile, int count, const Function& function) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  for (int first = 0; first < count; first += kAbreast) {
    float* const group = tile + first * kLanes;
    Abreast<D> x;
    x.each([&](int i) HWY_ATTR { return hn::Load(d, group + i * kLanes); });
    function(x);
    for (int i = 0; i < kAbreast; ++i) hn::Store(x.lane[i], d, group + i * kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
