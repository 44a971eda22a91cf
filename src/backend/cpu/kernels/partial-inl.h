/// Loads and stores of fewer numbers than a vector holds, never touching memory beyond them, on
/// every target, and the loop that ends in one. For use inside HWY_NAMESPACE.
#if defined(ASSAY_BACKEND_CPU_KERNELS_PARTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_PARTIAL_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_PARTIAL_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_PARTIAL_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// x[0 … count) and zeros after, count <= Lanes(d).
template <class D>
HWY_INLINE hn::Vec<D> LoadPartial(D d, const float* x, std::int64_t count) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, x);
#else
  // The portable target's masked load reads the whole vector.
  alignas(64) float copy[hn::MaxLanes(d)] = {};
  for (std::int64_t i = 0; i < count; ++i) copy[i] = x[i];
  return hn::Load(d, copy);
#endif
}

/// y[0 … count) = v, count <= Lanes(d).
template <class D>
HWY_INLINE void StorePartial(D d, hn::Vec<D> v, float* y, std::int64_t count) {
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, y);
}

/// How to load and store one vector, whole or cut short, so that one body serves both.
struct Whole {
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const float* x) const {
    return hn::LoadU(d, x);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> v, float* y) const {
    hn::StoreU(v, d, y);
  }
};
struct Partial {
  std::int64_t count;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const float* x) const {
    return LoadPartial(d, x, count);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> v, float* y) const {
    StorePartial(d, v, y, count);
  }
};

/// y[i] = op(x[i]), vector by vector; y may be x.
template <class Op>
HWY_INLINE void Map(const float* x, float* y, std::int64_t count, Op op) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(op(hn::LoadU(d, x + i)), d, y + i);
  const Partial tail{count - i};
  if (i < count) tail.store(d, op(tail.load(d, x + i)), y + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
