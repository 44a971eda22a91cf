#include "backend/cpu/kernels/mean.h"

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/mean.cpp"
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

/// kVectors vectors of channels. Runs of 64 rows are summed apart, so that the error grows with the
/// number of runs and not with that of rows.
template <int kVectors, class Access>
HWY_INLINE void mean_columns(Access access, const float* x, std::int64_t row_stride, float* y,
                             std::int64_t rows) {
  const Tag d;
  constexpr std::int64_t kRun = 64;
  Vector totals[kVectors];
  for (int j = 0; j < kVectors; ++j) totals[j] = hn::Zero(d);
  for (std::int64_t begin = 0; begin < rows; begin += kRun) {
    const std::int64_t end = begin + kRun < rows ? begin + kRun : rows;
    Vector sums[kVectors];
    for (int j = 0; j < kVectors; ++j) sums[j] = hn::Zero(d);
    for (std::int64_t r = begin; r < end; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        sums[j] = hn::Add(sums[j], access.load(d, x + r * row_stride + j * kLanes));
      }
    }
    for (int j = 0; j < kVectors; ++j) totals[j] = hn::Add(totals[j], sums[j]);
  }
  const Vector count = hn::Set(d, static_cast<float>(rows));
  for (int j = 0; j < kVectors; ++j) access.store(d, hn::Div(totals[j], count), y + j * kLanes);
}

void mean_rows(const float* x, std::int64_t row_stride, float* y, std::int64_t rows,
               std::int64_t channels) {
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
    mean_columns<4>(Whole(), x + c, row_stride, y + c, rows);
  }
  for (; c + kLanes <= channels; c += kLanes) {
    mean_columns<1>(Whole(), x + c, row_stride, y + c, rows);
  }
  if (c < channels) mean_columns<1>(Partial{channels - c}, x + c, row_stride, y + c, rows);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(mean_rows);

void mean(const float* x, std::int64_t row_stride, float* y, std::int64_t rows,
          std::int64_t channels) {
  HWY_DYNAMIC_DISPATCH(mean_rows)(x, row_stride, y, rows, channels);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
