#include "backend/cpu/kernels/narrow_attention.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "backend/cpu/kernels/narrow.h"

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/narrow_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/narrow_convert-inl.h"
#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/transpose-inl.h"
#include "backend/cpu/kernels/vector_math-inl.h"

#ifndef ASSAY_BACKEND_CPU_KERNELS_NARROW_ATTENTION_ONCE
#define ASSAY_BACKEND_CPU_KERNELS_NARROW_ATTENTION_ONCE
namespace assay::backend::cpu {
namespace {

/// Queries at a time: their scores stay in the second-level cache.
constexpr std::int64_t kQueries = 64;
constexpr std::int64_t kPanel = 32;    ///< columns of a panel of a narrow product's B
constexpr std::int64_t kGranule = 32;  ///< bf16 operands in 64 bytes
constexpr std::int64_t kLine = 16;     ///< floats

std::int64_t round_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

/// The columns of the panel from `column` on: see narrow.h.
std::int64_t panel_columns(std::int64_t n, std::int64_t column) {
  return n - column <= kPanel / 2 ? kPanel / 2 : kPanel;
}

/// One head's operands and the rows in flight, all in scratch; sizes in floats.
struct Buffers {
  float* keys;           ///< Kᵀ as B [head size, keys]
  float* values;         ///< V as B [keys, head size]
  float* queries;        ///< packed rows
  float* scores;         ///< [queries][keys, padded]; before that, a panel of keys as rows
  float* probabilities;  ///< packed rows
  float* zeros;          ///< the products' bias
};
struct Sizes {
  std::int64_t depth;     ///< head size, padded
  std::int64_t keys;      ///< padded
  std::int64_t channels;  ///< head size, padded to panels
  std::int64_t rows;      ///< queries in flight, padded to the kernels' blocks

  explicit Sizes(const AttentionArgs& args)
      : depth(round_up(args.head_dim, kGranule)),
        keys(round_up(args.keys, kPanel)),
        channels(round_up(args.head_dim, kPanel)),
        rows(round_up(std::min(args.queries, kQueries), kPanel)) {}
  [[nodiscard]] std::int64_t packed_keys() const { return std::max(depth, kPanel) * keys / 2; }
  [[nodiscard]] std::int64_t total() const {
    return packed_keys() + keys * channels / 2 + rows * depth / 2 + rows * std::max(keys, depth) +
           rows * keys / 2 + std::max(keys, channels);
  }
  [[nodiscard]] Buffers divide(float* scratch) const {
    Buffers buffers{};
    buffers.keys = scratch;
    buffers.values = buffers.keys + packed_keys();
    buffers.queries = buffers.values + keys * channels / 2;
    buffers.scores = buffers.queries + rows * depth / 2;
    buffers.probabilities = buffers.scores + rows * std::max(keys, depth);
    buffers.zeros = buffers.probabilities + rows * keys / 2;
    return buffers;
  }
};

/// A product with B [k, n] at `data`.
NarrowMatrix matrix(const float* data, std::int64_t k, std::int64_t k_padded, std::int64_t n,
                    const float* zeros) {
  NarrowMatrix b;
  b.precision = graph::Precision::bf16;
  b.k = k;
  b.k_padded = k_padded;
  b.n = n;
  b.data = reinterpret_cast<const std::byte*>(data);
  b.bias = zeros;
  return b;
}

constexpr std::int64_t kOneSegment[] = {0};

NarrowSource source_of(const float* a, std::int64_t stride, std::int64_t rows, std::int64_t width) {
  NarrowSource source;
  source.a = a;
  source.rows = rows;
  source.a_row = stride;
  source.segment_offsets = kOneSegment;
  source.segment_length = width;
  return source;
}

NarrowTarget target_of(float* c, std::int64_t stride, std::int64_t rows) {
  NarrowTarget target;
  target.f32 = c;
  target.rows = rows;
  target.row = stride;
  return target;
}

}  // namespace
}  // namespace assay::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
constexpr float kLog2E = 1.44269504F;

/// Kᵀ as panels: pairs of channels are one number of 32 bits, so packed keys only need transposing.
void pack_keys(const AttentionArgs& args, const float* k, const Sizes& sizes, const NarrowMatrix& b,
               float* rows, float* out) {
  for (std::int64_t key = 0; key < args.keys; key += kPanel) {
    const std::int64_t columns = panel_columns(args.keys, key);
    const std::int64_t count = std::min(columns, args.keys - key);
    std::memset(rows, 0, static_cast<std::size_t>(columns * sizes.depth) * 2);
    pack_rows(b, source_of(k, args.k_stride, args.keys, args.head_dim), key, key + count,
              reinterpret_cast<std::byte*>(rows));
    transpose_matrix(rows, sizes.depth / 2, columns, sizes.depth / 2, out + key * sizes.depth / 2,
                     columns);
  }
}

/// V as panels: two neighbouring keys make a pair.
void pack_values(const AttentionArgs& args, const float* v, const Sizes& sizes, float* out) {
  const Tag d;
  for (std::int64_t channel = 0; channel < args.head_dim; channel += kPanel) {
    const std::int64_t columns = panel_columns(args.head_dim, channel);
    float* to = out + channel * sizes.keys / 2;
    for (std::int64_t key = 0; key < sizes.keys; key += 2) {
      for (std::int64_t c = 0; c < columns; c += kLanes) {
        const std::int64_t left = std::clamp<std::int64_t>(args.head_dim - channel - c, 0, kLanes);
        const float* const from = v + key * args.v_stride + channel + c;
        const Vector first = key < args.keys ? LoadPartial(d, from, left) : hn::Zero(d);
        const Vector second =
            key + 1 < args.keys ? LoadPartial(d, from + args.v_stride, left) : hn::Zero(d);
        hn::StoreU(hn::BitCast(d, Bf16Pair(d, first, second)), d, to + c);
      }
      to += columns;
    }
  }
}

/// One row of scores becomes packed probabilities but for their sum, whose inverse is returned.
HWY_INLINE float softmax_row(const float* HWY_RESTRICT scores, std::int64_t keys, float factor,
                             std::byte* HWY_RESTRICT packed, std::int64_t keys_padded) {
  const Tag d;
  const std::int64_t whole = keys / kLanes * kLanes;
  Vector top = LoadPartial(d, scores, std::min(keys, kLanes));
  if (keys < kLanes) {
    top = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(keys)), top, hn::Set(d, scores[0]));
  }
  for (std::int64_t i = kLanes; i < whole; i += kLanes)
    top = hn::Max(top, hn::LoadU(d, scores + i));
  for (std::int64_t i = std::max(whole, kLanes); i < keys; ++i) {
    top = hn::Max(top, hn::Set(d, scores[i]));
  }
  const Vector scale = hn::Set(d, factor);
  const Vector offset = hn::Mul(hn::MaxOfLanes(d, top), scale);
  Vector sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kLanes <= keys; i += kLanes) {
    const Vector x = hn::MulSub(hn::LoadU(d, scores + i), scale, offset);
    const Vector weight = FastExp2NonPositive(d, x);
    sum = hn::Add(sum, weight);
    StoreBf16(d, weight, packed + 2 * i);
  }
  for (; i < keys_padded; i += kLanes) {
    const auto inside =
        hn::FirstN(d, static_cast<std::size_t>(std::clamp<std::int64_t>(keys - i, 0, kLanes)));
    const Vector x =
        hn::MulSub(LoadPartial(d, scores + i, std::max<std::int64_t>(keys - i, 0)), scale, offset);
    const Vector weight = hn::IfThenElseZero(inside, FastExp2NonPositive(d, x));
    sum = hn::Add(sum, weight);
    StoreBf16(d, weight, packed + 2 * i);
  }
  return 1.0F / hn::GetLane(hn::SumOfLanes(d, sum));
}

HWY_INLINE void scale_row(float* row, std::int64_t count, float factor) {
  const Tag d;
  const Vector by = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row + i), by), d, row + i);
  }
  for (; i < count; ++i) row[i] *= factor;
}

void attend_head(const AttentionArgs& args, std::int64_t item, const Sizes& sizes,
                 const Buffers& buffers) {
  const std::int64_t group = item / args.heads;
  const std::int64_t offset = item % args.heads * args.head_dim;
  const float* const q = args.q + group * args.q_batch_stride + offset;
  float* const out = args.out + group * args.out_batch_stride + offset;
  const NarrowMatrix keys =
      matrix(buffers.keys, args.head_dim, sizes.depth, args.keys, buffers.zeros);
  const NarrowMatrix values =
      matrix(buffers.values, args.keys, sizes.keys, args.head_dim, buffers.zeros);
  pack_keys(args, args.k + group * args.k_batch_stride + offset, sizes, keys, buffers.scores,
            buffers.keys);
  pack_values(args, args.v + group * args.v_batch_stride + offset, sizes, buffers.values);
  auto* const packed = reinterpret_cast<std::byte*>(buffers.queries);
  auto* const weights = reinterpret_cast<std::byte*>(buffers.probabilities);
  float inverse[kQueries];
  for (std::int64_t begin = 0; begin < args.queries; begin += sizes.rows) {
    const std::int64_t count = std::min(sizes.rows, args.queries - begin);
    pack_rows(keys, source_of(q, args.q_stride, args.queries, args.head_dim), begin, begin + count,
              packed);
    multiply_rows(keys, packed, 0, count, 0, panel_count(keys),
                  target_of(buffers.scores, sizes.keys, count));
    for (std::int64_t i = 0; i < count; ++i) {
      inverse[i] = softmax_row(buffers.scores + i * sizes.keys, args.keys, args.scale * kLog2E,
                               weights + i * values.row_bytes(), sizes.keys);
    }
    float* const to = out + begin * args.out_stride;
    multiply_rows(values, weights, 0, count, 0, panel_count(values),
                  target_of(to, args.out_stride, count));
    for (std::int64_t i = 0; i < count; ++i) {
      scale_row(to + i * args.out_stride, args.head_dim, inverse[i]);
    }
  }
}

void attend(const AttentionArgs& args, std::int64_t begin, std::int64_t end, float* scratch) {
  const Sizes sizes(args);
  const Buffers buffers = sizes.divide(scratch);
  std::fill_n(buffers.zeros, std::max(sizes.keys, sizes.channels), 0.0F);
  for (std::int64_t item = begin; item < end; ++item) attend_head(args, item, sizes, buffers);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(attend);

std::int64_t narrow_attention_items(const AttentionArgs& args) { return args.batch * args.heads; }

std::int64_t narrow_attention_scratch_floats(const AttentionArgs& args) {
  return round_up(Sizes(args).total(), kLine);
}

void narrow_attention(const AttentionArgs& args, std::int64_t item_begin, std::int64_t item_end,
                      float* scratch) {
  HWY_DYNAMIC_DISPATCH(attend)(args, item_begin, item_end, scratch);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
