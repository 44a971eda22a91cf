/// The two matrix products of attention as register tiles. Vectors run along queries: a block of
/// queries is kept transposed ([head size][queries]), so keys and values are read as they lie, one
/// number at a time, and broadcast. No head size wastes lanes, and neither product nor the softmax
/// between them needs a sum across lanes. For use inside HWY_NAMESPACE.
#if defined(ASSAY_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstdint>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

/// The widest block of queries, in vectors.
constexpr int kMaxVectors = 3;
/// Rows of a tile for each width: as many sums as the registers hold beside the operands.
#if HWY_TARGET == HWY_AVX3
constexpr std::array<int, kMaxVectors + 1> kTileRows = {0, 16, 12, 8};
#else
constexpr std::array<int, kMaxVectors + 1> kTileRows = {0, 10, 6, 4};
#endif

/// sums[i][j] = Σ over `depth` of a[i * row_step + depth * depth_step] * b[depth][vector j], where
/// a row of b is kVectors vectors.
template <int kRows, int kVectors>
HWY_INLINE void multiply_tile(const float* HWY_RESTRICT a, std::int64_t row_step,
                              std::int64_t depth_step, const float* HWY_RESTRICT b,
                              std::int64_t depth, Vector (&sums)[kRows][kVectors]) {
  const Tag d;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(d, b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector factor = hn::Set(d, a[i * row_step]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(factor, row[j], sums[i][j]);
    }
    a += depth_step;
    b += kVectors * kLanes;
  }
}

/// Scores of kRows keys: scores[key][query] = Σ over c of k[key * k_stride + c] * q[c][query], and
/// the running maximum of each query.
template <int kVectors, int kRows>
void score_tile(const float* k, std::int64_t k_stride, const float* q, std::int64_t head_dim,
                float* HWY_RESTRICT scores, float* HWY_RESTRICT maxima) {
  const Tag d;
  Vector sums[kRows][kVectors];
  multiply_tile<kRows, kVectors>(k, k_stride, 1, q, head_dim, sums);
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    Vector maximum = hn::Load(d, maxima + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      hn::Store(sums[i][j], d, scores + (i * kVectors + j) * kLanes);
      maximum = hn::Max(maximum, sums[i][j]);
    }
    hn::Store(maximum, d, maxima + j * kLanes);
  }
}

/// kRows channels of the output, transposed: out[c][query] = inverse[query] * Σ over keys of
/// v[key * v_stride + c] * weights[key][query].
template <int kVectors, int kRows>
void output_tile(const float* v, std::int64_t v_stride, const float* weights, std::int64_t keys,
                 const float* HWY_RESTRICT inverse, float* HWY_RESTRICT out) {
  const Tag d;
  Vector sums[kRows][kVectors];
  multiply_tile<kRows, kVectors>(v, 1, v_stride, weights, keys, sums);
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const Vector factor = hn::Load(d, inverse + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      hn::Store(hn::Mul(sums[i][j], factor), d, out + (i * kVectors + j) * kLanes);
    }
  }
}

using Tile = void (*)(const float*, std::int64_t, const float*, std::int64_t, float*, float*);
using ConstTile = void (*)(const float*, std::int64_t, const float*, std::int64_t, const float*,
                           float*);

template <int kVectors, int... kRows>
constexpr auto score_tiles(std::integer_sequence<int, kRows...>) {
  return std::array<Tile, sizeof...(kRows)>{score_tile<kVectors, kRows + 1>...};
}
template <int kVectors, int... kRows>
constexpr auto output_tiles(std::integer_sequence<int, kRows...>) {
  return std::array<ConstTile, sizeof...(kRows)>{output_tile<kVectors, kRows + 1>...};
}

/// Splits `total` rows into as few tiles as possible and as even as possible, so that no tile is
/// too small to hide the latency of its sums.
template <int kMaxRows>
struct EvenTiles {
  explicit EvenTiles(std::int64_t total)
      : count((total + kMaxRows - 1) / kMaxRows), smaller(total / count), larger(total % count) {}
  [[nodiscard]] std::int64_t rows(std::int64_t tile) const { return smaller + (tile < larger); }
  std::int64_t count;
  std::int64_t smaller;
  std::int64_t larger;  ///< so many tiles have one row more
};

/// All scores of one block of queries; `maxima` begins at -infinity.
template <int kVectors>
HWY_INLINE void block_scores(const float* k, std::int64_t k_stride, const float* q,
                             std::int64_t head_dim, std::int64_t keys, float* scores,
                             float* maxima) {
  constexpr int kMaxRows = kTileRows[kVectors];
  static constexpr auto kTiles = score_tiles<kVectors>(std::make_integer_sequence<int, kMaxRows>());
  const EvenTiles<kMaxRows> tiles(keys);
  for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
    const std::int64_t rows = tiles.rows(tile);
    kTiles[static_cast<std::size_t>(rows - 1)](k, k_stride, q, head_dim, scores, maxima);
    k += rows * k_stride;
    scores += rows * kVectors * kLanes;
  }
}

/// The transposed output of one block of queries.
template <int kVectors>
HWY_INLINE void block_output(const float* v, std::int64_t v_stride, const float* weights,
                             std::int64_t head_dim, std::int64_t keys, const float* inverse,
                             float* out) {
  constexpr int kMaxRows = kTileRows[kVectors];
  static constexpr auto kTiles =
      output_tiles<kVectors>(std::make_integer_sequence<int, kMaxRows>());
  const EvenTiles<kMaxRows> tiles(head_dim);
  for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
    const std::int64_t rows = tiles.rows(tile);
    kTiles[static_cast<std::size_t>(rows - 1)](v, v_stride, weights, keys, inverse, out);
    v += rows;
    out += rows * kVectors * kLanes;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
