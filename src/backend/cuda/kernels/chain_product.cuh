#pragma once
/// A product stage of a chain: a block's columns of it, by all warps, and what becomes of the sums.
#include "backend/cuda/kernels/chain_activation.cuh"
#include "backend/cuda/kernels/chain_rows.cuh"
#include "backend/cuda/kernels/chain_shape.h"
#include "backend/cuda/kernels/chain_weights.cuh"

namespace assay::backend::cuda {

inline constexpr int kQuad = 4;         ///< columns that a thread finishes together
inline constexpr int kMostCluster = 8;  ///< blocks

/// Where a stage's output goes in the shared memory of a cluster's blocks.
struct ChainShare {
  std::uint32_t to = 0;
  int pitch = 0;
  int cluster = 1;
  Store store = Store::f16;
  float inverse_scale = 1;

  __device__ ChainShare(const ChainStage& s, std::uint32_t shared, int blocks)
      : to(shared + s.out),
        pitch(s.out_pitch),
        cluster(blocks),
        store(s.out_store),
        inverse_scale(s.out_inverse_scale) {}

  /// Four columns of a row, to the same place in every block.
  template <bool kCodes>
  __device__ void write(int row, int column, float4 x) const {
    if (kCodes && store == Store::e4m3) {
      const std::uint32_t word = pack_e4m3(x.x * inverse_scale, x.y * inverse_scale) |
                                 pack_e4m3(x.z * inverse_scale, x.w * inverse_scale) << 16;
      const std::uint32_t at = to + row * pitch + column;
#pragma unroll
      for (int rank = 0; rank < kMostCluster; ++rank) {
        if (rank < cluster) store_in_cluster(address_in(at, rank), word);
      }
      return;
    }
    write(row, column, make_uint2(pack_f16(x.x, x.y), pack_f16(x.z, x.w)));
  }
  __device__ void write(int row, int column, uint2 words) const {
    const std::uint32_t at = to + row * pitch + column * 2;
#pragma unroll
    for (int rank = 0; rank < kMostCluster; ++rank) {
      if (rank < cluster) store_in_cluster(address_in(at, rank), words);
    }
  }
};

/// What a product with the residual of a stage needs of it.
template <int kBands>
__device__ uint2 load_residual(const ChainStage& s, const ChainTile<kBands>& t, int local) {
  const int column = t.rank * s.columns + local;
  if (!t.there || local >= s.columns || column >= s.n) return make_uint2(0, 0);
  const std::int64_t offset = offset_of(s.residual, t.image, t.line) + column;
  return *reinterpret_cast<const uint2*>(static_cast<const __half*>(s.residual.data) + offset);
}

/// The products of a stage: each warp has one piece of 16 columns and shares its depth with others;
/// their sums go to shared memory. With the order of columns that the weights are packed in, a
/// thread has four neighbouring columns of each of its rows.
template <typename Operand, int kBands>
__device__ void multiply_rows(const ChainStage& s, const ChainTile<kBands>& t, float* partial,
                              ChainWeights& weights) {
  float sums[kBands][2][4] = {};
  const std::uint32_t shared = shared_address(t.shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int pieces = pieces_across(s);
  const int shift = 31 - __clz(s.split);
  const int piece = warp >> shift;
  const int part = warp & (s.split - 1);
  const bool busy = piece < pieces;
  const int band_bytes = 16 * s.in_pitch;
  std::uint32_t a = shared + s.in + lane % 16 * s.in_pitch + lane / 16 * 16;
  const int step_bytes = pieces * kPieceBytes;
  const int mine = piece * kPieceBytes + lane * 16;
#pragma unroll 1
  for (int first = 0; first < s.steps; first += s.chunk_steps) {
    const std::uint32_t chunk = weights.take(shared) + mine;
    if (busy) {
      // This warp's steps are those whose number has its part as remainder.
      const int last = min(s.chunk_steps, s.steps - first);
#pragma unroll 2
      for (int step = (part - first) & (s.split - 1); step < last; step += s.split) {
        std::uint32_t b[4];
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                     : "r"(chunk + step * step_bytes)
                     : "memory");
        std::uint32_t left[kBands][4];
#pragma unroll
        for (int band = 0; band < kBands; ++band) {
          load_matrices(left[band], a + step * kStepBytes + band * band_bytes);
        }
#pragma unroll
        for (int band = 0; band < kBands; ++band) {
          multiply_add<Operand>(sums[band][0], left[band], b[0], b[1]);
          multiply_add<Operand>(sums[band][1], left[band], b[2], b[3]);
        }
      }
    }
    a += s.chunk_steps * kStepBytes;
    weights.give_back(shared);
  }
  if (!busy) return;
  const int pitch = chain_sums_pitch(s);
  float* row =
      partial + (part * kBands * 16 + lane / 4) * pitch + piece * kPieceColumns + lane % 4 * kQuad;
#pragma unroll
  for (int band = 0; band < kBands; ++band, row += 16 * pitch) {
    const float(&x)[2][4] = sums[band];
    *reinterpret_cast<float4*>(row) = make_float4(x[0][0], x[0][1], x[1][0], x[1][1]);
    *reinterpret_cast<float4*>(row + 8 * pitch) = make_float4(x[0][2], x[0][3], x[1][2], x[1][3]);
  }
}

/// A thread's quads: those of its row that lie kSharing × 4 columns apart. What is written to
/// memory is written last, behind the barrier that tells the cluster: a barrier waits for what was
/// written before it.
template <int kBands, bool kCodes>
class ChainFinish {
 public:
  using Tile = ChainTile<kBands>;

  __device__ ChainFinish(const ChainStage& s, const Tile& t, const float* partial,
                         const float* constants, int cluster)
      : s_(s),
        t_(t),
        partial_(partial + t.row * chain_sums_pitch(s)),
        constants_(constants),
        share_(s, shared_address(t.shared), cluster) {}

  __device__ void run(uint2 first_residual) {
    uint2 residual = first_residual;
#pragma unroll 1
    for (int local = t_.part * kQuad; local < s_.columns; local += Tile::kSharing * kQuad) {
      const int column = t_.rank * s_.columns + local;
      if (column >= s_.n) return;
      write_late();
      late_ = finish(local, residual);
      late_column_ = column;
      if (s_.out >= 0) share_.template write<kCodes>(t_.row, column, late_);
      if (s_.has_residual != 0) residual = load_residual(s_, t_, local + Tile::kSharing * kQuad);
    }
  }

  /// Writes the last quad to memory.
  __device__ void write_late() {
    if (late_column_ < 0 || s_.has_view == 0 || !t_.there || t_.line < s_.view_row) return;
    const std::int64_t offset = offset_of(s_.view, t_.image, t_.line - s_.view_row) + late_column_;
    if (s_.view.store == Store::f32) {
      *reinterpret_cast<float4*>(static_cast<float*>(s_.view.data) + offset) = late_;
      return;
    }
    *reinterpret_cast<uint2*>(static_cast<__half*>(s_.view.data) + offset) =
        make_uint2(pack_f16(late_.x, late_.y), pack_f16(late_.z, late_.w));
  }

 private:
  [[nodiscard]] __device__ float4 finish(int local, uint2 residual) const {
    float4 x = *reinterpret_cast<const float4*>(constants_ + s_.bias / 4 + local);
    const float4 bias = x;
    const float* from = partial_ + local;
    const int apart = Tile::kRows * chain_sums_pitch(s_);
    x = *reinterpret_cast<const float4*>(from);
#pragma unroll 4
    for (int part = 1; part < s_.split; ++part) {
      from += apart;
      const float4 y = *reinterpret_cast<const float4*>(from);
      x = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    if (kCodes && s_.scale >= 0) {
      const float4 f = *reinterpret_cast<const float4*>(constants_ + s_.scale / 4 + local);
      x = make_float4(x.x * f.x, x.y * f.y, x.z * f.z, x.w * f.w);
    }
    x = make_float4(x.x + bias.x, x.y + bias.y, x.z + bias.z, x.w + bias.w);
    if (s_.act == Act::gelu) {
      x = make_float4(quick_gelu(x.x), quick_gelu(x.y), quick_gelu(x.z), quick_gelu(x.w));
    } else if (s_.act == Act::silu) {
      x = make_float4(quick_silu(x.x), quick_silu(x.y), quick_silu(x.z), quick_silu(x.w));
    }
    if (s_.has_residual != 0) {
      const float2 low = floats_of_f16(residual.x);
      const float2 high = floats_of_f16(residual.y);
      x = make_float4(x.x + low.x, x.y + low.y, x.z + high.x, x.w + high.y);
    }
    return x;
  }

  const ChainStage& s_;
  const Tile& t_;
  const float* partial_;
  const float* constants_;
  ChainShare share_;
  float4 late_ = {0, 0, 0, 0};
  int late_column_ = -1;
};

}  // namespace assay::backend::cuda
