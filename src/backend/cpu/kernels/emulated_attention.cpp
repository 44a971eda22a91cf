#include "backend/cpu/kernels/emulated_attention.h"

#include <algorithm>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/emulated_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/fake_quantize-inl.h"
#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
constexpr int kAtOnce = 8;          // sums side by side: what it takes to hide an FMA's latency
constexpr float kLargest = 448.0F;  // E4M3's: what exp(0) becomes

/// Lengths are padded to whole vectors: loops below have no tails.
std::int64_t padded(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

/// One head of one group, in the caller's scratch.
struct Head {
  std::int64_t keys_padded;
  std::int64_t size_padded;
  float* keys_t;  ///< [head size, keys_padded], zeros behind the last key
  float* values;  ///< [keys, size_padded]
  float* query;   ///< [size_padded]
  float* scores;  ///< [keys_padded]
  float* sums;    ///< [size_padded]
};

Head head_in(const AttentionArgs& args, float* scratch) {
  Head head{};
  head.keys_padded = padded(args.keys);
  head.size_padded = padded(args.head_dim);
  head.keys_t = scratch;
  head.values = head.keys_t + args.head_dim * head.keys_padded;
  head.query = head.values + args.keys * head.size_padded;
  head.scores = head.query + head.size_padded;
  head.sums = head.scores + head.keys_padded;
  return head;
}

/// The row's numbers as E4M3 has them, zeros up to a whole vector.
void round_row(const float* x, float scale, std::int64_t count, float* y) {
  const Tag d;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const Vector numbers = LoadPartial(d, x + i, std::min(kLanes, count - i));
    const Vector rounded = RoundToE4m3(d, hn::Mul(numbers, hn::Set(d, 1.0F / scale)));
    hn::StoreU(hn::Mul(rounded, hn::Set(d, scale)), d, y + i);
  }
}

void load_head(const AttentionArgs& args, const std::array<float, 3>& scales, const float* k,
               const float* v, const Head& head) {
  std::fill_n(head.keys_t, args.head_dim * head.keys_padded, 0.0F);
  for (std::int64_t j = 0; j < args.keys; ++j) {
    round_row(k + j * args.k_stride, scales[1], args.head_dim, head.query);
    for (std::int64_t i = 0; i < args.head_dim; ++i) {
      head.keys_t[i * head.keys_padded + j] = head.query[i];
    }
    round_row(v + j * args.v_stride, scales[2], args.head_dim, head.values + j * head.size_padded);
  }
}

/// Scores of kVectors whole vectors of keys from key `j` on, whose sums hide each other's latency.
template <int kVectors>
HWY_INLINE void score_keys(const AttentionArgs& args, const Head& head, std::int64_t j) {
  const Tag d;
  Vector sums[kVectors];
  for (int n = 0; n < kVectors; ++n) sums[n] = hn::Zero(d);
  for (std::int64_t i = 0; i < args.head_dim; ++i) {
    const Vector query = hn::Set(d, head.query[i]);
    const float* const keys = head.keys_t + i * head.keys_padded + j;
    for (int n = 0; n < kVectors; ++n) {
      sums[n] = hn::MulAdd(query, hn::LoadU(d, keys + n * kLanes), sums[n]);
    }
  }
  for (int n = 0; n < kVectors; ++n) {
    hn::StoreU(hn::Mul(sums[n], hn::Set(d, args.scale)), d, head.scores + j + n * kLanes);
  }
}

/// scores = scale · K q; returns the largest of the keys that are there.
float score(const AttentionArgs& args, const Head& head) {
  const Tag d;
  std::int64_t j = 0;
  for (; j + kAtOnce * kLanes <= head.keys_padded; j += kAtOnce * kLanes) {
    score_keys<kAtOnce>(args, head, j);
  }
  for (; j < head.keys_padded; j += kLanes) score_keys<1>(args, head, j);
  Vector top = hn::Set(d, -HUGE_VALF);
  for (j = 0; j < args.keys; j += kLanes) {
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(args.keys - j));
    top = hn::Max(top, hn::IfThenElse(inside, hn::LoadU(d, head.scores + j), top));
  }
  return hn::GetLane(hn::MaxOfLanes(d, top));
}

/// scores become exp(score - top) times 448, rounded to E4M3; returns the sum of what they were
/// before.
float weigh(const AttentionArgs& args, const Head& head, float top) {
  const Tag d;
  Vector sum = hn::Zero(d);
  for (std::int64_t j = 0; j < head.keys_padded; j += kLanes) {
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(args.keys - j));
    const Vector below = hn::Sub(hn::LoadU(d, head.scores + j), hn::Set(d, top));
    const Vector weight = hn::IfThenElseZero(inside, Exp(d, below));
    sum = hn::Add(sum, weight);
    hn::StoreU(RoundToE4m3(d, hn::Mul(weight, hn::Set(d, kLargest))), d, head.scores + j);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void mix(const AttentionArgs& args, const Head& head, float factor, float* out) {
  const Tag d;
  for (std::int64_t i = 0; i < args.head_dim; i += kLanes) {
    Vector sums[kAtOnce];
    for (Vector& sum : sums) sum = hn::Zero(d);
    const auto add = [&](std::int64_t j, Vector& sum) {
      sum = hn::MulAdd(hn::Set(d, head.scores[j]),
                       hn::LoadU(d, head.values + j * head.size_padded + i), sum);
    };
    std::int64_t j = 0;
    for (; j + kAtOnce <= args.keys; j += kAtOnce) {
      for (int n = 0; n < kAtOnce; ++n) add(j + n, sums[n]);
    }
    for (; j < args.keys; ++j) add(j, sums[0]);
    Vector sum = sums[0];
    for (int n = 1; n < kAtOnce; ++n) sum = hn::Add(sum, sums[n]);
    hn::StoreU(hn::Mul(sum, hn::Set(d, factor)), d, head.sums + i);
  }
  std::copy_n(head.sums, args.head_dim, out);
}

std::int64_t scratch_floats(const AttentionArgs& args) {
  return (args.head_dim + 1) * padded(args.keys) + (args.keys + 2) * padded(args.head_dim);
}

void attend(const AttentionArgs& args, const std::array<float, 3>& scales, std::int64_t item_begin,
            std::int64_t item_end, float* scratch) {
  const Head head = head_in(args, scratch);
  for (std::int64_t item = item_begin; item < item_end; ++item) {
    const std::int64_t group = item / args.heads;
    const std::int64_t first = item % args.heads * args.head_dim;
    load_head(args, scales, args.k + group * args.k_batch_stride + first,
              args.v + group * args.v_batch_stride + first, head);
    for (std::int64_t i = 0; i < args.queries; ++i) {
      round_row(args.q + group * args.q_batch_stride + i * args.q_stride + first, scales[0],
                args.head_dim, head.query);
      const float sum = weigh(args, head, score(args, head));
      mix(args, head, 1.0F / (kLargest * sum),
          args.out + group * args.out_batch_stride + i * args.out_stride + first);
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

HWY_EXPORT(scratch_floats);
HWY_EXPORT(attend);

}  // namespace

std::int64_t emulated_attention_items(const AttentionArgs& args) { return args.batch * args.heads; }

std::int64_t emulated_attention_scratch_floats(const AttentionArgs& args) {
  return HWY_DYNAMIC_DISPATCH(scratch_floats)(args);
}

void emulated_attention(const AttentionArgs& args, const std::array<float, 3>& scales,
                        std::int64_t item_begin, std::int64_t item_end, float* scratch) {
  HWY_DYNAMIC_DISPATCH(attend)(args, scales, item_begin, item_end, scratch);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
