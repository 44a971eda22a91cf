#pragma once
/// Several steps on the same rows as one: a cluster of blocks has a tile of rows, each block some
/// of the columns of every stage, and what a stage makes goes into the shared memory of all of
/// them.
#include "backend/cuda/kernels/view.h"

namespace assay::backend::cuda {

inline constexpr int kChainThreads = 512;
inline constexpr int kChainWarps = kChainThreads / 32;
inline constexpr int kMostStages = 8;
inline constexpr int kMostChains = 2;  ///< side by side in one kernel
/// Weights lie as the tensor cores' lanes take them: 512 bytes for 16 columns × 32 bytes of depth.
inline constexpr int kPieceBytes = 512;
inline constexpr int kPieceColumns = 16;
inline constexpr int kStepBytes = 32;   ///< of depth, of a row
inline constexpr int kMostChunks = 32;  ///< of weights, of all stages together
/// Each warp of a fused attention has up to two times 16 keys.
inline constexpr int kMostChainKeys = 2 * 16 * kChainWarps;
inline constexpr int kMostChainHead = 64;
inline constexpr int kWidestChainNorm = 512;

enum class StageOp : std::int32_t { product, attention };

/// Where the rows of the first stage come from.
enum class ChainSource : std::int32_t {
  rows,         ///< `a`, as it lies there
  convolution,  ///< the pixels under the kernel, of the image `a`
  none          ///< attention finds its own
};

/// out = act(A · Wᵀ × scale + bias) + residual, or attention's output. Offsets and pitches are
/// bytes of shared memory; -1: nowhere.
struct alignas(16) ChainStage {
  StageOp op = StageOp::product;
  Store operand = Store::f16;  ///< f16 or e4m3
  std::int32_t in = 0, in_pitch = 0;
  std::int32_t from = -1;  ///< the stage that its rows come from; -1: from memory
  std::int32_t n = 0, k = 0;
  std::int32_t columns = 0;      ///< of a block: a multiple of 8
  std::int32_t steps = 0;        ///< of depth
  std::int32_t split = 1;        ///< how many warps share the depth; a power of two
  std::int32_t chunk_steps = 1;  ///< of depth that come together, in the stage's own chunks
  // What becomes of the rows before they are multiplied, in place.
  std::int32_t norm = -1;  ///< among the constants: weight [k] and bias [k] of the LayerNorm
  float epsilon = 0;
  float inverse_k = 1;
  Act in_act = Act::none;      ///< after the LayerNorm
  std::int32_t converts = 0;   ///< they lie as f16 and become codes
  std::int32_t clears = 0;     ///< their ends are no whole step
  float inverse_in_scale = 1;  ///< at e4m3: code = round(number × this)
  // What becomes of the sums.
  std::int32_t bias = -1, scale = -1;  ///< among the constants, [columns]
  Act act = Act::none;
  View residual;
  std::int32_t has_residual = 0;
  std::int32_t out = -1, out_pitch = 0;
  std::int32_t out_width = 0;    ///< columns of all blocks together
  Store out_store = Store::f16;  ///< in shared memory: f16 or e4m3
  float out_inverse_scale = 1;
  View view;  ///< in memory, f16 or f32: its row 0 is the chain's row `view_row` of an image
  std::int32_t has_view = 0, view_row = 0;
};

/// The attention of a chain: its first stage, or any where the queries are a chain's own rows.
struct ChainAttention {
  View q, k, v;
  std::int32_t in_chain = 0;  ///< the queries are the stage's rows in shared memory
  std::int32_t heads = 0;
  std::int32_t head = 0;  ///< columns of a head, a multiple of 8
  std::int32_t keys = 0;
  float scale = 1;
  std::int32_t scratch = 0;
};

/// Weights of some steps of a stage, and where they wait for it in shared memory.
struct ChainChunk {
  std::int32_t from = 0;  ///< in bytes, among the block's weights
  std::int32_t to = 0;
  std::int32_t bytes = 0;
  std::int16_t after = -1;   ///< the chunk that every warp must have read before, or -1
  std::int16_t signals = 0;  ///< a later chunk waits for this one
};

struct Chain {
  std::int32_t rows = 0;                  ///< an image
  std::int32_t sequences = 1;             ///< an image
  std::int32_t length = 0;                ///< rows of a sequence
  std::int32_t map_width = 0, patch = 0;  ///< as Attention's
  float patches_each = 0;                 ///< patch / map_width
  float tiles_each = 1;                   ///< 1 / the tiles of a sequence
  float sequences_each = 1;               ///< 1 / sequences
  std::int32_t tile_rows = 32;            ///< 16, 32 or 64
  std::int32_t cluster = 1;               ///< blocks that share a tile
  ChainSource source = ChainSource::none;
  View a;
  Window window;
  ChainAttention attention;
  const std::byte* weights = nullptr;  ///< of block 0 of a cluster
  std::int64_t weights_stride = 0;     ///< to those of the next one
  const std::byte* constants = nullptr;
  std::int32_t constants_bytes = 0;  ///< of a block; a multiple of 16
  // Shared memory.
  std::int32_t constants_at = 0, partial_at = 0;
  std::int32_t shared_bytes = 0;
  std::int32_t chunk_count = 0;
  ChainChunk chunks[kMostChunks];
  std::int32_t stage_count = 0;
  ChainStage stages[kMostStages];
};

/// Tiles of a call: no tile has rows of two sequences.
constexpr int chain_tiles(const Chain& c, int batch) {
  return batch * c.sequences * ((c.length + c.tile_rows - 1) / c.tile_rows);
}

/// Whether two chains go in one kernel.
constexpr bool go_together(const Chain& a, const Chain& b) { return a.cluster == b.cluster; }

/// Whether a stage multiplies codes of E4M3: few do, and a kernel without is shorter.
constexpr bool has_codes(const Chain& c) {
  for (int i = 0; i < c.stage_count; ++i) {
    if (c.stages[i].operand == Store::e4m3) return true;
  }
  return false;
}

}  // namespace assay::backend::cuda
