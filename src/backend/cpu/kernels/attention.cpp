#include "backend/cpu/kernels/attention.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/attention_row-inl.h"
#include "backend/cpu/kernels/attention_tiles-inl.h"
#include "backend/cpu/kernels/transpose-inl.h"
#include "backend/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr float kLog2E = 1.44269504F;
/// Below so many queries each is attended by itself.
constexpr std::int64_t kBlockQueries = 4;
constexpr std::int64_t kBlockWidth = kMaxVectors * kLanes;

using Blocks = EvenTiles<kMaxVectors>;

/// The queries of one head, in blocks of vectors as even as can be.
Blocks blocks_of(const AttentionArgs& args) { return Blocks((args.queries + kLanes - 1) / kLanes); }

bool by_rows(const AttentionArgs& args) { return args.queries < kBlockQueries; }

std::int64_t items(const AttentionArgs& args) {
  if (args.queries == 0) return 0;
  return args.batch * args.heads * (by_rows(args) ? 1 : blocks_of(args).count);
}

/// One head of one group of tokens.
struct Head {
  const float* q;
  const float* k;
  const float* v;
  float* out;
};
Head head_of(const AttentionArgs& args, std::int64_t index) {
  const std::int64_t group = index / args.heads;
  const std::int64_t offset = index % args.heads * args.head_dim;
  return {args.q + group * args.q_batch_stride + offset,
          args.k + group * args.k_batch_stride + offset,
          args.v + group * args.v_batch_stride + offset,
          args.out + group * args.out_batch_stride + offset};
}

/// Where the parts of the scratch memory begin, each on a cache line.
struct Scratch {
  float* maxima;  ///< and then the inverse sums: one a query of the block
  float* q;       ///< the block's queries, transposed; then its output, transposed
  float* scores;  ///< [keys][queries of the block]
};
constexpr std::int64_t kLine = 16;
Scratch divide(const AttentionArgs& args, float* scratch) {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch);
  float* const begin =
      scratch + static_cast<std::ptrdiff_t>((64 - address % 64) % 64 / sizeof(float));
  float* const q = begin + std::max(kBlockWidth, kLine);
  return {begin, q, q + args.head_dim * kBlockWidth};
}
std::int64_t scratch_floats(const AttentionArgs& args) {
  return kLine + std::max(kBlockWidth, kLine) + (args.head_dim + args.keys) * kBlockWidth;
}

/// The queries [first, first + count) as [head size][kVectors vectors], scaled; lanes beyond them
/// are 0.
template <int kVectors>
void pack_queries(const AttentionArgs& args, const float* q, std::int64_t count, float* packed) {
  const Tag d;
  constexpr std::int64_t kWidth = kVectors * kLanes;
  const std::int64_t size = args.head_dim * kWidth;
  if (count < kWidth) std::memset(packed, 0, static_cast<std::size_t>(size) * sizeof(float));
  transpose_matrix(q, args.q_stride, count, args.head_dim, packed, kWidth);
  const Vector factor = hn::Set(d, args.scale * kLog2E);
  for (std::int64_t i = 0; i < size; i += kLanes) {
    hn::Store(hn::Mul(hn::Load(d, packed + i), factor), d, packed + i);
  }
}

/// Scores become 2^(score - maximum), and `maxima` the inverse of their sums.
template <int kVectors>
void exponentiate(std::int64_t keys, float* HWY_RESTRICT scores, float* HWY_RESTRICT maxima) {
  const Tag d;
  Vector top[kVectors];
  Vector sums[kVectors];
  for (int j = 0; j < kVectors; ++j) {
    top[j] = hn::Load(d, maxima + j * kLanes);
    sums[j] = hn::Zero(d);
  }
  for (std::int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const Vector weight = Exp2NonPositive(d, hn::Sub(hn::Load(d, scores), top[j]));
      hn::Store(weight, d, scores);
      sums[j] = hn::Add(sums[j], weight);
      scores += kLanes;
    }
  }
  for (int j = 0; j < kVectors; ++j) {
    hn::Store(hn::Div(hn::Set(d, 1.0F), sums[j]), d, maxima + j * kLanes);
  }
}

template <int kVectors>
void attend_block(const AttentionArgs& args, const Head& head, std::int64_t first,
                  const Scratch& scratch) {
  const Tag d;
  constexpr std::int64_t kWidth = kVectors * kLanes;
  const std::int64_t count = std::min(kWidth, args.queries - first);
  pack_queries<kVectors>(args, head.q + first * args.q_stride, count, scratch.q);
  const Vector lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (int j = 0; j < kVectors; ++j) hn::Store(lowest, d, scratch.maxima + j * kLanes);
  block_scores<kVectors>(head.k, args.k_stride, scratch.q, args.head_dim, args.keys, scratch.scores,
                         scratch.maxima);
  exponentiate<kVectors>(args.keys, scratch.scores, scratch.maxima);
  block_output<kVectors>(head.v, args.v_stride, scratch.scores, args.head_dim, args.keys,
                         scratch.maxima, scratch.q);
  transpose_matrix(scratch.q, kWidth, args.head_dim, count, head.out + first * args.out_stride,
                   args.out_stride);
}

void attend_rows(const AttentionArgs& args, const Head& head, float* scores) {
  for (std::int64_t query = 0; query < args.queries; ++query) {
    attend_row(head.q + query * args.q_stride, head.k, args.k_stride, head.v, args.v_stride,
               args.keys, args.head_dim, args.scale * kLog2E, scores,
               head.out + query * args.out_stride);
  }
}

void attend(const AttentionArgs& args, std::int64_t begin, std::int64_t end, float* memory) {
  const Scratch scratch = divide(args, memory);
  if (by_rows(args)) {
    for (std::int64_t i = begin; i < end; ++i) attend_rows(args, head_of(args, i), scratch.scores);
    return;
  }
  const Blocks blocks = blocks_of(args);
  for (std::int64_t i = begin; i < end; ++i) {
    const Head head = head_of(args, i / blocks.count);
    const std::int64_t block = i % blocks.count;
    const std::int64_t first = (block * blocks.smaller + std::min(block, blocks.larger)) * kLanes;
    switch (blocks.rows(block)) {
      case 1:
        attend_block<1>(args, head, first, scratch);
        break;
      case 2:
        attend_block<2>(args, head, first, scratch);
        break;
      default:
        attend_block<3>(args, head, first, scratch);
        break;
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(items);
HWY_EXPORT(scratch_floats);
HWY_EXPORT(attend);

std::int64_t attention_items(const AttentionArgs& args) {
  return HWY_DYNAMIC_DISPATCH(items)(args);
}

std::int64_t attention_scratch_floats(const AttentionArgs& args) {
  return HWY_DYNAMIC_DISPATCH(scratch_floats)(args);
}

void attention(const AttentionArgs& args, std::int64_t item_begin, std::int64_t item_end,
               float* scratch) {
  HWY_DYNAMIC_DISPATCH(attend)(args, item_begin, item_end, scratch);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
