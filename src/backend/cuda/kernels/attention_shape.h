#pragma once
/// How attention is cut into tiles of 16 queries of one head, and what a block needs for one.
#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

inline constexpr int kQueriesATile = 16;
inline constexpr int kKeysATime = 32;  ///< of a warp
inline constexpr int kMostHeadSize = 128;
inline constexpr int kMostSimpleKeys = 4096;

constexpr int tiles(const Attention& a, int batch) {
  return batch * a.sequences * a.heads * ((a.queries + kQueriesATile - 1) / kQueriesATile);
}

/// Whether the block without tensor cores computes it: they have no fp32, and the others' shared
/// memory has room for heads of 128.
constexpr bool attention_is_simple(const Attention& a) {
  return a.operand == Store::f32 || a.head_size > kMostHeadSize;
}

/// The width that a head is padded to with zeros.
constexpr int attention_head_size(const Attention& a) {
  return a.head_size <= 32 ? 32 : a.head_size <= 64 ? 64 : 128;
}

/// Numbers from one row of shared memory to the next: 16 bytes more than a row has, so that eight
/// rows lie in different banks.
constexpr int attention_pitch(int head_size) { return head_size + 8; }

/// Where the warps' largest scores and sums lie: behind their keys and values.
constexpr int attention_moments(int head_size) {
  return 8 * 2 * kKeysATime * attention_pitch(head_size) * 2;
}

constexpr int shared_bytes(const Attention& a, int /*batch*/) {
  if (attention_is_simple(a)) return 8 * a.keys * 4;
  return attention_moments(attention_head_size(a)) + 8 * kQueriesATile * 8;
}

}  // namespace assay::backend::cuda
