// A row's sum and its sum of squares around a center, for inclusion per Highway target.
#if defined(ASSAY_BACKEND_CPU_KERNELS_ROW_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_ROW_SUM_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_ROW_SUM_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_ROW_SUM_INL_H_
#endif

#include <hwy/highway.h>

#include "backend/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Sums over a row of (x - center)^kPower, in four independent sums.
template <int kPower>
HWY_INLINE float sum_row(const float* x, std::int64_t count, float center) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const auto middle = hn::Set(d, center);
  const auto term = [&](auto value, auto sum) HWY_ATTR {
    if constexpr (kPower == 1) return hn::Add(sum, value);
    const auto difference = hn::Sub(value, middle);
    return hn::MulAdd(difference, difference, sum);
  };
  hn::Vec<decltype(d)> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sums[j] = term(hn::LoadU(d, x + i + j * kLanes), sums[j]);
  }
  for (; i + kLanes <= count; i += kLanes) sums[0] = term(hn::LoadU(d, x + i), sums[0]);
  if (i < count) {
    // Lanes beyond the row hold the center, so that they add nothing to a sum of squares.
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(count - i));
    const auto value = LoadPartial(d, x + i, count - i);
    sums[1] = term(kPower == 1 ? value : hn::IfThenElse(inside, value, middle), sums[1]);
  }
  const auto sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
