#include "backend/cpu/kernels/transpose.h"

#include <algorithm>
#include <cstring>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

void transpose_one(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t columns,
                   float* y, std::int64_t y_stride) {
  // In squares, so that the cache lines written at a stride are still there when they are filled.
  constexpr std::int64_t kSide = 64;
  for (std::int64_t r = 0; r < rows; r += kSide) {
    for (std::int64_t c = 0; c < columns; c += kSide) {
      transpose_matrix(x + r * x_stride + c, x_stride, std::min(kSide, rows - r),
                       std::min(kSide, columns - c), y + c * y_stride + r, y_stride);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {
namespace {

HWY_EXPORT(transpose_one);

/// The axis along which the input is contiguous: every dense tensor has one.
int contiguous_axis(const TransposePlan& plan) {
  for (int axis = 0; axis < plan.rank; ++axis) {
    if (plan.strides[static_cast<std::size_t>(axis)] == 1) return axis;
  }
  return -1;
}

/// The axes that one item spans: the last alone where runs are copied, else the last and the
/// input's contiguous one, which are transposed as a matrix.
bool spanned(const TransposePlan& plan, int axis, int contiguous) {
  return axis == plan.rank - 1 || axis == contiguous;
}

/// Where an item begins in the input and in the output.
struct Place {
  std::int64_t x = 0;
  std::int64_t y = 0;
};
Place place_of(const TransposePlan& plan, std::int64_t item, int contiguous) {
  Place place;
  std::int64_t y_stride = 1;
  for (int axis = plan.rank - 1; axis >= 0; --axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (!spanned(plan, axis, contiguous)) {
      const std::int64_t position = item % plan.dims[a];
      item /= plan.dims[a];
      place.x += position * plan.strides[a];
      place.y += position * y_stride;
    }
    y_stride *= plan.dims[a];
  }
  return place;
}

}  // namespace

TransposePlan plan_transpose(std::span<const std::int64_t> dims, std::span<const int> permutation) {
  std::array<std::int64_t, TransposePlan::kMaxRank> in_strides{};
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    in_strides[axis] = stride;
    stride *= dims[axis];
  }
  TransposePlan plan;
  std::size_t rank = 0;
  for (const int source : permutation) {
    const auto s = static_cast<std::size_t>(source);
    if (dims[s] == 1) continue;
    const bool merges = rank > 0 && plan.strides[rank - 1] == in_strides[s] * dims[s];
    if (merges) {
      plan.dims[rank - 1] *= dims[s];
      plan.strides[rank - 1] = in_strides[s];
    } else {
      plan.dims[rank] = dims[s];
      plan.strides[rank] = in_strides[s];
      ++rank;
    }
  }
  if (rank == 0) {
    plan.dims[0] = 1;
    plan.strides[0] = 1;
    rank = 1;
  }
  plan.rank = static_cast<int>(rank);
  return plan;
}

std::int64_t transpose_items(const TransposePlan& plan) {
  const int contiguous = contiguous_axis(plan);
  std::int64_t items = 1;
  for (int axis = 0; axis < plan.rank; ++axis) {
    if (!spanned(plan, axis, contiguous)) items *= plan.dims[static_cast<std::size_t>(axis)];
  }
  return items;
}

void transpose(const TransposePlan& plan, const float* x, float* y, std::int64_t item_begin,
               std::int64_t item_end) {
  const int contiguous = contiguous_axis(plan);
  const auto last = static_cast<std::size_t>(plan.rank - 1);
  const auto middle = static_cast<std::size_t>(contiguous);
  std::int64_t y_stride = 1;
  for (std::size_t axis = middle + 1; axis <= last; ++axis) y_stride *= plan.dims[axis];
  for (std::int64_t item = item_begin; item < item_end; ++item) {
    const Place place = place_of(plan, item, contiguous);
    if (middle == last) {
      std::memcpy(y + place.y, x + place.x,
                  static_cast<std::size_t>(plan.dims[last]) * sizeof(float));
    } else {
      HWY_DYNAMIC_DISPATCH(transpose_one)
      (x + place.x, plan.strides[last], plan.dims[last], plan.dims[middle], y + place.y, y_stride);
    }
  }
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
