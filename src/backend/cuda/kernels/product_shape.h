#pragma once
/// How a product is cut into tiles, and what a block needs for one.
#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

inline constexpr int kMostSharedBytes =
    227 * 1024;  ///< that a block can have, compute capability 9.0
/// Of a product's block. A step at batch 1 is a chain of instructions that wait for each other, and
/// more warps wait together: with 8 of them a multiprocessor stood still 5 cycles of 6.
inline constexpr int kProductThreads = 512;
inline constexpr int kProductWarps = kProductThreads / 32;
inline constexpr int kChunkBytes = 128;  ///< of depth, in a row of shared memory

/// `rows` × `columns` outputs a block; its warps lie `down` × `across`, and `deep` of them share
/// the depth. `stages` chunks of the weight are on their way; `window` chunks of computed rows fit.
template <int kRows, int kColumns, int kDown, int kAcross, int kDeep, int kStages, int kWindow>
struct TileShape {
  static_assert(kDown * kAcross * kDeep == kProductWarps, "every warp has a part");
  static_assert(kDeep == 1 || kDeep == 2 || kDeep == 4, "a chunk has 4 steps of depth");
  static constexpr int rows = kRows;
  static constexpr int columns = kColumns;
  static constexpr int warps_down = kDown;
  static constexpr int warps_across = kAcross;
  static constexpr int warps_deep = kDeep;
  static constexpr int stages = kStages;
  static constexpr int window = kWindow;
  static constexpr int pitch = kColumns + 8;  ///< of a row of sums: no bank is met twice
};

/// For few rows: all warps on one small tile, so that many blocks have work.
using SmallTile = TileShape<32, 64, 1, 4, 4, 6, 12>;
/// For many: each number that is fetched takes part in many products.
using LargeTile = TileShape<128, 128, 4, 4, 1, 3, 6>;

template <typename Shape>
constexpr int product_tiles(const Product& p, int batch) {
  return (p.rows * batch + Shape::rows - 1) / Shape::rows *
         ((p.n + Shape::columns - 1) / Shape::columns);
}

/// Whether the first operand is copied into shared memory as it lies.
constexpr bool streams_a(Source source, Store operand, bool fast) {
  return fast && operand == Store::f16 && (source == Source::rows || source == Source::convolution);
}

/// Whether the first operand's rows (a convolution's pixels) are f16 in whole octets aligned to 16
/// bytes: what the quick kernels take.
constexpr bool is_fast(const Product& p) {
  const auto lies_well = [](const View& view) {
    return view.store == Store::f16 && view.row_stride % 8 == 0 && view.image_stride % 8 == 0 &&
           reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0;
  };
  const bool convolution = p.source == Source::convolution;
  // Computed rather than copied, a patch is gathered number by number.
  if (convolution && p.operand != Store::f16) return false;
  if (!lies_well(p.a) || (convolution ? p.window.channels : p.k) % 8 != 0) return false;
  return p.has_first == 0 || lies_well(p.first);
}

/// Shared memory of a block.
template <typename Shape>
constexpr int product_shared_bytes(const Product& p) {
  const int depth = kChunkBytes / bytes_of(p.operand);
  const int chunks = (p.k + depth - 1) / depth;
  const bool streams = streams_a(p.source, p.operand, is_fast(p));
  const int kept = streams ? Shape::stages : chunks < Shape::window ? chunks : Shape::window;
  const bool normalized = p.source == Source::layer_norm;
  // The moments lie behind a full window.
  const int window = normalized ? Shape::window : kept;
  const int operands = (Shape::stages * Shape::columns + window * Shape::rows) * kChunkBytes +
                       (normalized ? Shape::rows * 8 : 0);
  const int sums = Shape::warps_deep * Shape::rows * Shape::pitch * 4;
  return operands > sums ? operands : sums;
}

}  // namespace assay::backend::cuda
