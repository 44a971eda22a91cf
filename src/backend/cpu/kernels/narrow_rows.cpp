// Rows of fp32 activations become packed operands.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/kernels/narrow.h"
#include "backend/cpu/kernels/narrow_block.h"

// The choice of targets comes before anything of Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/narrow_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/narrow_write-inl.h"
#include "backend/cpu/kernels/row_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {

/// A row is normalized a stretch at a time, each converted while it is in the first-level cache.
void write_normalized(const NarrowMatrix& b, const NarrowKernels& kernels, const float* x,
                      std::int64_t count, const RowNorm& norm, std::byte* out) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  constexpr std::int64_t kStretch = 512;
  HWY_ALIGN float stretch[kStretch];
  const auto length = static_cast<float>(count);
  const float mean = sum_row<1>(x, count, 0) / length;
  const float variance = sum_row<2>(x, count, mean) / length;
  const auto center = hn::Set(d, mean);
  const auto inverse = hn::Set(d, 1.0F / std::sqrt(variance + norm.epsilon));
  const auto scaled = [&](auto access, std::int64_t i) HWY_ATTR {
    const auto normal = hn::Mul(hn::Sub(access.load(d, x + i), center), inverse);
    return hn::MulAdd(normal, access.load(d, norm.weight + i), access.load(d, norm.bias + i));
  };
  for (std::int64_t first = 0; first < count; first += kStretch) {
    const std::int64_t end = std::min(count, first + kStretch);
    std::int64_t i = first;
    for (; i + kLanes <= end; i += kLanes) hn::Store(scaled(Whole(), i), d, stretch + i - first);
    if (i < end) hn::Store(scaled(Partial{end - i}, i), d, stretch + i - first);
    const std::int64_t size = b.precision == graph::Precision::bf16 ? 2 : 1;
    write_rows(b, kernels, {.x = stretch, .count = end - first, .to = out + first * size});
  }
}

/// Rows at one stride, a segment of all of them at a time: segments may be short.
void write_segments(const NarrowMatrix& b, const NarrowKernels& kernels, const NarrowSource& source,
                    const float* x, std::int64_t rows, std::byte* out) {
  const std::int64_t size = b.precision == graph::Precision::bf16 ? 2 : 1;
  const std::int64_t segment_bytes = source.segment_length * size;
  for (const std::int64_t offset : source.segment_offsets) {
    write_rows(b, kernels,
               {x + offset, source.a_row, static_cast<int>(rows), source.segment_length, out,
                b.row_bytes()});
    out += segment_bytes;
  }
}

/// Zeros for the last step of each row, where numbers do not fill it.
void zero_last_step(const NarrowMatrix& b, std::int64_t rows, std::byte* out) {
  if (b.k == b.k_padded) return;
  for (std::int64_t r = 1; r <= rows; ++r) {
    std::memset(out + r * b.row_bytes() - kStepBytes, 0, kStepBytes);
  }
}

void pack_rows_of(const NarrowMatrix& b, const NarrowSource& source, std::int64_t begin,
                  std::int64_t end, std::byte* out, const NarrowKernels& kernels) {
  zero_last_step(b, end - begin, out);
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t in_line = row % source.rows;
    const std::int64_t rows = std::min(source.rows - in_line, end - row);
    const float* const x = source.a + row / source.rows * source.a_line + in_line * source.a_row;
    if (source.norm.weight == nullptr) {
      write_segments(b, kernels, source, x, rows, out);
    } else {
      for (std::int64_t r = 0; r < rows; ++r) {
        write_normalized(b, kernels, x + r * source.a_row + source.segment_offsets[0],
                         source.segment_length, source.norm, out + r * b.row_bytes());
      }
    }
    row += rows;
    out += rows * b.row_bytes();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(pack_rows_of);

void pack_rows(const NarrowMatrix& b, const NarrowSource& source, std::int64_t begin,
               std::int64_t end, std::byte* out) {
  const NarrowKernels kernels = narrow_kernels();
  HWY_DYNAMIC_DISPATCH(pack_rows_of)(b, source, begin, end, out, kernels);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
