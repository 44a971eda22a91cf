#include "backend/cpu/kernels/layer_norm.h"

#include <cmath>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

/// Sums over a row of (x - center)^kPower, in four independent sums.
template <int kPower>
HWY_INLINE float sum_row(const float* x, std::int64_t count, float center) {
  const Tag d;
  const Vector middle = hn::Set(d, center);
  const auto term = [&](Vector value, Vector sum) HWY_ATTR {
    if constexpr (kPower == 1) return hn::Add(sum, value);
    const Vector difference = hn::Sub(value, middle);
    return hn::MulAdd(difference, difference, sum);
  };
  Vector sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sums[j] = term(hn::LoadU(d, x + i + j * kLanes), sums[j]);
  }
  for (; i + kLanes <= count; i += kLanes) sums[0] = term(hn::LoadU(d, x + i), sums[0]);
  if (i < count) {
    // Lanes beyond the row hold the center, so that they add nothing to a sum of squares.
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(count - i));
    const Vector value = LoadPartial(d, x + i, count - i);
    sums[1] = term(kPower == 1 ? value : hn::IfThenElse(inside, value, middle), sums[1]);
  }
  const Vector sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class Access>
HWY_INLINE void scale_part(Access access, const float* x, float* y, Vector center, Vector inverse,
                           const float* gamma, const float* beta) {
  const Tag d;
  const Vector normal = hn::Mul(hn::Sub(access.load(d, x), center), inverse);
  access.store(d, hn::MulAdd(normal, access.load(d, gamma), access.load(d, beta)), y);
}

void normalize_rows(const float* x, float* y, std::int64_t rows, std::int64_t channels,
                    const float* gamma, const float* beta, float epsilon) {
  const Tag d;
  const auto count = static_cast<float>(channels);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float mean = sum_row<1>(x, channels, 0) / count;
    const float variance = sum_row<2>(x, channels, mean) / count;
    const Vector center = hn::Set(d, mean);
    const Vector inverse = hn::Set(d, 1.0F / std::sqrt(variance + epsilon));
    std::int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      scale_part(Whole(), x + c, y + c, center, inverse, gamma + c, beta + c);
    }
    if (c < channels) {
      scale_part(Partial{channels - c}, x + c, y + c, center, inverse, gamma + c, beta + c);
    }
    x += channels;
    y += channels;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(normalize_rows);

void layer_norm(const float* x, float* y, std::int64_t rows, std::int64_t channels,
                const float* gamma, const float* beta, float epsilon) {
  HWY_DYNAMIC_DISPATCH(normalize_rows)(x, y, rows, channels, gamma, beta, epsilon);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
