// Blocks of sums by AMX: tiles of 16 rows × 64 bytes, multiplied by a unit beside the vector units.
#ifdef __x86_64__
#include <immintrin.h>

#include "backend/cpu/kernels/narrow_block.h"

#define ASSAY_AMX __attribute__((target("amx-tile,amx-bf16,amx-int8")))

namespace assay::backend::cpu {
namespace {

constexpr int kTileRows = 16;
constexpr int kTiles = 8;

/// What LDTILECFG reads (Intel SDM, volume 1, "TILECFG").
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64, "the processor reads 64 bytes");

constexpr TileConfiguration whole_tiles() {
  TileConfiguration configuration;
  for (int i = 0; i < kTiles; ++i) {
    configuration.row_bytes[i] = kStepBytes;
    configuration.rows[i] = kTileRows;
  }
  return configuration;
}
constexpr TileConfiguration kConfiguration = whole_tiles();

// Tiles 0 to 3 are the sums, 4 and 5 rows of A, 6 and 7 columns of B.

template <bool kBf16>
ASSAY_AMX inline void multiply(const BlockArgs& args, bool lower, bool right) {
  const std::byte* a = args.a;
  const std::byte* const a_lower = args.a + kTileRows * args.row_bytes;
  const std::byte* b = args.b;
  const std::int64_t b_row = args.columns * 4;
  const auto steps = static_cast<int>(args.row_bytes / kStepBytes);
  // Vector instructions get one of two ports while tiles are multiplied, and run best alone where
  // there are few steps to spread them over.
  const int pieces = steps >= args.pending->left ? 1 : 0;
  for (std::int64_t k = 0; k < args.row_bytes; k += kStepBytes, b += kTileRows * b_row) {
    _tile_loadd(4, a + k, args.row_bytes);
    _tile_loadd(6, b, b_row);
    if constexpr (kBf16) {
      _tile_dpbf16ps(0, 4, 6);
    } else {
      _tile_dpbusd(0, 4, 6);
    }
    if (right) {
      _tile_loadd(7, b + kStepBytes, b_row);
      if constexpr (kBf16) {
        _tile_dpbf16ps(1, 4, 7);
      } else {
        _tile_dpbusd(1, 4, 7);
      }
    }
    if (lower) {
      _tile_loadd(5, a_lower + k, args.row_bytes);
      if constexpr (kBf16) {
        _tile_dpbf16ps(2, 5, 6);
        if (right) _tile_dpbf16ps(3, 5, 7);
      } else {
        _tile_dpbusd(2, 5, 6);
        if (right) _tile_dpbusd(3, 5, 7);
      }
    }
    args.pending->run(pieces);
  }
}

template <bool kBf16>
ASSAY_AMX inline void block(const BlockArgs& args) {
  const bool lower = args.rows > kTileRows;
  const bool right = args.columns > 16;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (lower && right) {
    multiply<kBf16>(args, true, true);
  } else {
    multiply<kBf16>(args, lower, right);
  }
  auto* const sums = static_cast<float*>(args.sums);
  constexpr int kRow = kPanelColumns * 4;
  _tile_stored(0, sums, kRow);
  if (right) _tile_stored(1, sums + 16, kRow);
  if (!lower) return;
  _tile_stored(2, sums + kTileRows * kPanelColumns, kRow);
  if (right) _tile_stored(3, sums + kTileRows * kPanelColumns + 16, kRow);
}

}  // namespace

ASSAY_AMX void amx_enter() { _tile_loadconfig(&kConfiguration); }

/// Unused tiles cost nothing when threads are switched.
ASSAY_AMX void amx_leave() { _tile_release(); }

ASSAY_AMX void amx_bf16_block(const BlockArgs& args) { block<true>(args); }
ASSAY_AMX void amx_int8_block(const BlockArgs& args) { block<false>(args); }

}  // namespace assay::backend::cpu
#endif  // __x86_64__
