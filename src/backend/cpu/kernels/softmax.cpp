#include "backend/cpu/kernels/softmax.h"

#include <cstddef>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

HWY_INLINE float max_of(const float* x, std::int64_t count) {
  const Tag d;
  Vector top = hn::Set(d, x[0]);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) top = hn::Max(top, hn::LoadU(d, x + i));
  if (i < count) {
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(count - i));
    top = hn::Max(top, hn::IfThenElse(inside, LoadPartial(d, x + i, count - i), top));
  }
  return hn::GetLane(hn::MaxOfLanes(d, top));
}

/// Writes exp(x - top) and returns the sum.
HWY_INLINE float exponentials(const float* x, float* y, std::int64_t count, float top) {
  const Tag d;
  const Vector most = hn::Set(d, top);
  Vector sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vector weight = ExpNonPositive(d, hn::Sub(hn::LoadU(d, x + i), most));
    hn::StoreU(weight, d, y + i);
    sum = hn::Add(sum, weight);
  }
  if (i < count) {
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(count - i));
    const Vector weight = ExpNonPositive(d, hn::Sub(LoadPartial(d, x + i, count - i), most));
    StorePartial(d, weight, y + i, count - i);
    sum = hn::Add(sum, hn::IfThenElseZero(inside, weight));
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t width) {
  if (width == 0) return;
  const Tag d;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float sum = exponentials(x, y, width, max_of(x, width));
    const Vector inverse = hn::Set(d, 1.0F / sum);
    std::int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d, y + i), inverse), d, y + i);
    }
    const Partial tail{width - i};
    if (i < width) tail.store(d, hn::Mul(tail.load(d, y + i), inverse), y + i);
    x += width;
    y += width;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(softmax_rows);

void softmax(const float* x, float* y, std::int64_t rows, std::int64_t width) {
  HWY_DYNAMIC_DISPATCH(softmax_rows)(x, y, rows, width);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
