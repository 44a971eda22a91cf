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
#include "backend/cpu/kernels/row_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

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
