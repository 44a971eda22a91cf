#pragma once
/// How much shared memory the parts of a chain take. Bytes, unless said.
#include "backend/cuda/kernels/chain.h"

namespace assay::backend::cuda {

inline constexpr int kMostChainShared =
    223 * 1024;  ///< the chain itself and barriers have the rest
inline constexpr int kUnit = 16;

constexpr int round_up(int number, int unit) { return (number + unit - 1) / unit * unit; }

/// From one row to the next: an odd number of 16 bytes, so that eight rows lie in different banks.
constexpr int chain_pitch(int bytes) { return (round_up(bytes, kUnit) / kUnit | 1) * kUnit; }

/// Columns of a head with the zeros that fill its last step.
constexpr int chain_head_depth(const ChainAttention& a) { return round_up(a.head, 16); }
constexpr int chain_head_pitch(const ChainAttention& a) {
  return chain_pitch(chain_head_depth(a) * 2);
}
constexpr int chain_probability_pitch(const ChainAttention& a) {
  return chain_pitch(round_up(a.keys, 16) * 2);
}

/// Keys, values, queries, probabilities, each warp's largest score and sum, and partial outputs.
constexpr int chain_scratch_bytes(const ChainAttention& a, int tile_rows) {
  const int depth = chain_head_depth(a);
  const int sharing = kChainWarps / (depth / 16);
  return (2 * round_up(a.keys, 16) + tile_rows) * chain_head_pitch(a) +
         16 * chain_probability_pitch(a) + 2 * 16 * kChainWarps * 4 +
         sharing * 16 * (depth + 4) * 4;
}

/// What a block's weights of one step of a product stage take, and all that it has.
constexpr int chain_step_bytes(const ChainStage& s) {
  return round_up(s.columns, kPieceColumns) / kPieceColumns * kPieceBytes;
}
constexpr std::int64_t chain_weight_bytes(const Chain& c) {
  std::int64_t bytes = 0;
  for (int i = 0; i < c.stage_count; ++i) {
    const ChainStage& s = c.stages[i];
    if (s.op == StageOp::product) bytes += static_cast<std::int64_t>(chain_step_bytes(s)) * s.steps;
  }
  return bytes;
}

/// How many warps share the depth of `columns` columns: all, as far as there is depth.
constexpr int chain_split(int columns, int steps) {
  const int pieces = (columns + kPieceColumns - 1) / kPieceColumns;
  int split = 1;
  while (split * 2 * pieces <= kChainWarps && split * 2 <= steps) split *= 2;
  return split;
}

/// From one row of sums to the next, in numbers: half a round of banks more than whole ones, so
/// that the two rows that a quarter of a warp writes lie in different banks.
constexpr int chain_sums_pitch(const ChainStage& s) { return round_up(s.columns, 32) + 16; }

/// What the warps' sums of a stage take.
constexpr int chain_partial_bytes(const ChainStage& s, int tile_rows) {
  return s.split * tile_rows * chain_sums_pitch(s) * 4;
}

}  // namespace assay::backend::cuda
