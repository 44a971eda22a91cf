#include "backend/cpu/kernels/narrow_attention.h"

#include <algorithm>
#include <cstddef>

#include "backend/cpu/kernels/narrow_block.h"

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/narrow_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/narrow_convert-inl.h"
#include "backend/cpu/kernels/narrow_tile_activation-inl.h"
#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/transpose-inl.h"

#ifndef ASSAY_BACKEND_CPU_KERNELS_NARROW_ATTENTION_ONCE
#define ASSAY_BACKEND_CPU_KERNELS_NARROW_ATTENTION_ONCE
namespace assay::backend::cpu {
namespace {

constexpr std::int64_t kQueries = kBlockRows;  ///< at a time
constexpr std::int64_t kPanel = kPanelColumns;
constexpr std::int64_t kBlock = kQueries * kPanel;  ///< sums of one block
constexpr std::int64_t kGranule = kStepBytes / 2;   ///< bf16 operands in a step
constexpr std::int64_t kLine = 16;                  ///< floats

std::int64_t round_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

/// The columns of the panel from `column` on: see narrow.h.
std::int64_t panel_columns(std::int64_t n, std::int64_t column) {
  return n - column <= kPanel / 2 ? kPanel / 2 : kPanel;
}

/// One head's operands and the block of queries in flight, all in scratch.
struct Buffers {
  float* keys;           ///< Kᵀ as B [head size, keys]
  float* values;         ///< V as B [keys, head size]
  float* queries;        ///< packed rows; before that, a panel of keys as rows
  float* scores;         ///< [keys / 32][32 queries][32 keys]
  float* probabilities;  ///< packed rows
};
/// In floats; packed operands are half of one.
struct Sizes {
  std::int64_t depth;     ///< head size, padded
  std::int64_t keys;      ///< padded
  std::int64_t channels;  ///< head size, padded to panels

  explicit Sizes(const AttentionArgs& args)
      : depth(round_up(args.head_dim, kGranule)),
        keys(round_up(args.keys, kPanel)),
        channels(round_up(args.head_dim, kPanel)) {}
  [[nodiscard]] std::int64_t total() const {
    return (depth * keys + keys * channels + kQueries * depth + kQueries * keys) / 2 +
           kQueries * keys;
  }
  [[nodiscard]] Buffers divide(float* scratch) const {
    Buffers buffers{};
    buffers.keys = scratch;
    buffers.values = buffers.keys + depth * keys / 2;
    buffers.queries = buffers.values + keys * channels / 2;
    buffers.scores = buffers.queries + kQueries * depth / 2;
    buffers.probabilities = buffers.scores + kQueries * keys;
    return buffers;
  }
};

std::byte* bytes_of(float* floats) { return reinterpret_cast<std::byte*>(floats); }

}  // namespace
}  // namespace assay::backend::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
constexpr std::int64_t kRowVectors = kPanel / kLanes;
/// Vectors of a block whose exponentials are computed side by side.
constexpr int kGroup = kLanes == 16 ? 8 : 4;
constexpr float kLog2E = 1.44269504F;
/// What a key that is not there scores: far below any other, and finite.
constexpr float kNoScore = -1e30F;

/// Rows of one head to packed rows, whose padding is there already.
HWY_INLINE void pack_rows(const AttentionArgs& args, const Sizes& sizes, const float* x,
                          std::int64_t stride, std::int64_t rows, const Buffers& buffers,
                          const NarrowKernels& kernels) {
  kernels.to_bf16({x, stride, static_cast<int>(rows), args.head_dim, bytes_of(buffers.queries),
                   sizes.depth * 2});
}

/// Kᵀ as panels: pairs of channels are one number of 32 bits, so packed keys only need transposing.
void pack_keys(const AttentionArgs& args, const float* k, const Sizes& sizes,
               const Buffers& buffers, const NarrowKernels& kernels) {
  for (std::int64_t key = 0; key < args.keys; key += kPanel) {
    const std::int64_t columns = panel_columns(args.keys, key);
    const std::int64_t count = std::min(columns, args.keys - key);
    pack_rows(args, sizes, k + key * args.k_stride, args.k_stride, count, buffers, kernels);
    std::fill_n(buffers.queries + count * sizes.depth / 2, (columns - count) * sizes.depth / 2,
                0.0F);
    transpose_matrix(buffers.queries, sizes.depth / 2, columns, sizes.depth / 2,
                     buffers.keys + key * sizes.depth / 2, columns);
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
        hn::StoreU(hn::BitCast(d, bf16_pair(d, first, second)), d, to + c);
      }
      to += columns;
    }
  }
}

/// The scores of up to 32 packed queries, a panel of keys at a time.
void score(const AttentionArgs& args, const Sizes& sizes, const Buffers& buffers, int rows,
           const NarrowKernels& kernels) {
  Pending nothing;
  for (std::int64_t key = 0; key < args.keys; key += kPanel) {
    const auto columns = static_cast<int>(panel_columns(args.keys, key));
    float* const block = buffers.scores + key / kPanel * kBlock;
    kernels.bf16({bytes_of(buffers.queries), sizes.depth * 2,
                  bytes_of(buffers.keys + key * sizes.depth / 2), rows, columns, block, &nothing});
    const std::int64_t there = std::min(args.keys - key, kPanel);
    for (std::int64_t r = 0; there < kPanel && r < rows; ++r) {
      std::fill_n(block + r * kPanel + there, kPanel - there, kNoScore);
    }
  }
}

/// The largest score of each row, times `factor`.
void largest(const Sizes& sizes, const float* scores, int rows, float factor, float* out) {
  const Tag d;
  for (int r = 0; r < rows; ++r) {
    Vector top = hn::Load(d, scores + r * kPanel);
    for (std::int64_t key = 0; key < sizes.keys; key += kPanel) {
      const float* const row = scores + key / kPanel * kBlock + r * kPanel;
      for (std::int64_t v = 0; v < kRowVectors; ++v)
        top = hn::Max(top, hn::Load(d, row + v * kLanes));
    }
    out[r] = factor * hn::GetLane(hn::MaxOfLanes(d, top));
  }
}

/// Scores become packed probabilities but for their rows' sums, whose inverses are returned.
void softmax(const Sizes& sizes, const Buffers& buffers, int rows, float factor,
             const NarrowKernels& kernels, float* inverse) {
  const Tag d;
  HWY_ALIGN float top[kQueries] = {};
  HWY_ALIGN float sums[kQueries * kLanes] = {};
  largest(sizes, buffers.scores, rows, factor, top);
  const Vector scale = hn::Set(d, factor);
  const std::int64_t vectors = rows * kRowVectors;
  for (std::int64_t key = 0; key < sizes.keys; key += kPanel) {
    float* const block = buffers.scores + key / kPanel * kBlock;
    for (std::int64_t first = 0; first < vectors; first += kGroup) {
      const auto row_of = [first](int i) { return (first + i) / kRowVectors; };
      Side<Tag, kGroup> x;
      // Rows past the last are computed, too, where the group reaches over it: they are not used.
      x.each([&](int i) HWY_ATTR {
        return hn::MulSub(hn::Load(d, block + (first + i) * kLanes), scale,
                          hn::Set(d, top[row_of(i)]));
      });
      x = short_exp2(d, x);
      for (int i = 0; i < kGroup; ++i) {
        float* const sum = sums + row_of(i) * kLanes;
        hn::Store(hn::Add(hn::Load(d, sum), x.at[i]), d, sum);
        hn::Store(x.at[i], d, block + (first + i) * kLanes);
      }
    }
    kernels.to_bf16(
        {block, kPanel, rows, kPanel, bytes_of(buffers.probabilities) + key * 2, sizes.keys * 2});
  }
  for (int r = 0; r < rows; ++r) {
    inverse[r] = 1.0F / hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums + r * kLanes)));
  }
}

/// The weighted sums of values, each row divided by its weights' sum.
void mix(const AttentionArgs& args, const Sizes& sizes, const Buffers& buffers, int rows,
         const NarrowKernels& kernels, const float* inverse, float* out) {
  const Tag d;
  Pending nothing;
  alignas(64) float block[kBlock];
  for (std::int64_t channel = 0; channel < args.head_dim; channel += kPanel) {
    const auto columns = static_cast<int>(panel_columns(args.head_dim, channel));
    kernels.bf16({bytes_of(buffers.probabilities), sizes.keys * 2,
                  bytes_of(buffers.values + channel * sizes.keys / 2), rows, columns, block,
                  &nothing});
    for (int r = 0; r < rows; ++r) {
      const Vector factor = hn::Set(d, inverse[r]);
      for (std::int64_t c = 0; c < columns; c += kLanes) {
        const std::int64_t left = args.head_dim - channel - c;
        const Vector y = hn::Mul(hn::Load(d, block + r * kPanel + c), factor);
        float* const to = out + r * args.out_stride + channel + c;
        if (left >= kLanes) {
          hn::StoreU(y, d, to);
        } else if (left > 0) {
          StorePartial(d, y, to, left);
        }
      }
    }
  }
}

void attend_head(const AttentionArgs& args, std::int64_t item, const Sizes& sizes,
                 const Buffers& buffers, const NarrowKernels& kernels) {
  const std::int64_t group = item / args.heads;
  const std::int64_t offset = item % args.heads * args.head_dim;
  const float* const q = args.q + group * args.q_batch_stride + offset;
  float* const out = args.out + group * args.out_batch_stride + offset;
  pack_keys(args, args.k + group * args.k_batch_stride + offset, sizes, buffers, kernels);
  pack_values(args, args.v + group * args.v_batch_stride + offset, sizes, buffers.values);
  float inverse[kQueries];
  for (std::int64_t begin = 0; begin < args.queries; begin += kQueries) {
    const auto rows = static_cast<int>(std::min(kQueries, args.queries - begin));
    pack_rows(args, sizes, q + begin * args.q_stride, args.q_stride, rows, buffers, kernels);
    score(args, sizes, buffers, rows, kernels);
    softmax(sizes, buffers, rows, args.scale * kLog2E, kernels, inverse);
    mix(args, sizes, buffers, rows, kernels, inverse, out + begin * args.out_stride);
  }
}

void attend(const AttentionArgs& args, std::int64_t begin, std::int64_t end, float* scratch) {
  const Sizes sizes(args);
  const Buffers buffers = sizes.divide(scratch);
  const NarrowKernels kernels = narrow_kernels();
  std::fill_n(buffers.queries, kQueries * sizes.depth / 2, 0.0F);
  if (kernels.enter != nullptr) kernels.enter();
  for (std::int64_t item = begin; item < end; ++item) {
    attend_head(args, item, sizes, buffers, kernels);
  }
  if (kernels.leave != nullptr) kernels.leave();
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
