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

/// Writes numbers as operands of one product, one behind the other.
class Writer {
 public:
  Writer(const NarrowMatrix& b, const NarrowKernels& kernels, std::byte* out)
      : b_(b), kernels_(kernels), out_(out) {}

  void write(const float* x, std::int64_t count) {
    if (b_.precision == graph::Precision::bf16) {
      kernels_.to_bf16({.x = x, .count = count, .to = out_});
      out_ += count * 2;
    } else {
      write_u8(b_.input, x, count, out_);
      out_ += count;
    }
  }
  void pad_to(const std::byte* end) {
    std::memset(out_, 0, static_cast<std::size_t>(end - out_));
    out_ += end - out_;
  }

 private:
  const NarrowMatrix& b_;
  const NarrowKernels& kernels_;
  std::byte* out_;
};

/// A row is normalized a stretch at a time, each converted while it is in the first-level cache.
void write_normalized(const float* x, std::int64_t count, const RowNorm& norm, Writer& writer) {
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
    writer.write(stretch, end - first);
  }
}

void pack_rows_of(const NarrowMatrix& b, const NarrowSource& source, std::int64_t begin,
                  std::int64_t end, std::byte* out, const NarrowKernels& kernels) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* const x =
        source.a + row / source.rows * source.a_line + row % source.rows * source.a_row;
    std::byte* const next = out + b.row_bytes();
    Writer writer(b, kernels, out);
    if (source.norm.weight != nullptr) {
      write_normalized(x + source.segment_offsets[0], source.segment_length, source.norm, writer);
    } else {
      for (const std::int64_t offset : source.segment_offsets) {
        writer.write(x + offset, source.segment_length);
      }
    }
    writer.pad_to(next);
    out = next;
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
