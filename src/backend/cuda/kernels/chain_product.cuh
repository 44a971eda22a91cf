#pragma once
/// A product stage of a chain: a block's columns of it, by all warps, and what becomes of the sums.
#include "backend/cuda/kernels/chain_activation.cuh"
#include "backend/cuda/kernels/chain_rows.cuh"
#include "backend/cuda/kernels/chain_shape.h"
#include "backend/cuda/kernels/chain_weights.cuh"
#include "backend/cuda/kernels/shared.cuh"

namespace assay::backend::cuda {

inline constexpr int kQuad = 4;         ///< columns that a thread finishes together
inline constexpr int kMostCluster = 8;  ///< blocks

/// Where a stage's output goes in the shared memory of a cluster's blocks, and the barrier that
/// counts its bytes.
struct ChainShare {
  std::uint32_t to = 0;
  std::uint32_t barrier = 0;
  int pitch = 0;
  int cluster = 1;
  Store store = Store::f16;
  float inverse_scale = 1;

  __device__ ChainShare(const ChainStage& s, std::uint32_t shared, int blocks,
                        std::uint32_t arrivals)
      : to(shared + s.out),
        barrier(arrivals),
        pitch(s.out_pitch),
        cluster(blocks),
        store(s.out_store),
        inverse_scale(s.out_inverse_scale) {}

  /// Four columns of a row, to the same place in every block.
  template <bool kCodes>
  __device__ void write(int row, int column, float4 x) const {
    if (kCodes && store == Store::e4m3) {
      send(row * pitch + column, pack_e4m3(x.x * inverse_scale, x.y * inverse_scale) |
                                     pack_e4m3(x.z * inverse_scale, x.w * inverse_scale) << 16);
    } else {
      send(row * pitch + column * 2, make_uint2(pack_f16(x.x, x.y), pack_f16(x.z, x.w)));
    }
  }

 private:
  template <typename Words>
  __device__ void send(int offset, Words words) const {
#pragma unroll
    for (int rank = 0; rank < kMostCluster; ++rank) {
      if (rank >= cluster) continue;
      send_in_cluster(address_in(to + offset, rank), words, address_in(barrier, rank));
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

/// Some steps of depth: all loads first.
template <typename Operand, int kBands, int kSteps>
__device__ void multiply_steps(std::uint32_t weight, int weight_apart, std::uint32_t a, int a_apart,
                               int band_bytes, float (&sums)[kBands][2][4]) {
  std::uint32_t right[kSteps][4];
  std::uint32_t left[kSteps][kBands][4];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    load_shared4(right[i], weight + i * weight_apart);
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
      load_matrices(left[i][band], a + i * a_apart + band * band_bytes);
    }
  }
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
      multiply_add<Operand>(sums[band][0], left[i][band], right[i][0], right[i][1]);
      multiply_add<Operand>(sums[band][1], left[i][band], right[i][2], right[i][3]);
    }
  }
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
      int step = (part - first) & (s.split - 1);
      if constexpr (kBands < 4) {
        // Two steps at once: what both read is under way together.
#pragma unroll 1
        for (; step + s.split < last; step += 2 * s.split) {
          multiply_steps<Operand, kBands, 2>(chunk + step * step_bytes, s.split * step_bytes,
                                             a + step * kStepBytes, s.split * kStepBytes,
                                             band_bytes, sums);
        }
      }
#pragma unroll 1
      for (; step < last; step += s.split) {
        multiply_steps<Operand, kBands, 1>(chunk + step * step_bytes, 0, a + step * kStepBytes, 0,
                                           band_bytes, sums);
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
                         const float* constants, int cluster, std::uint32_t arrivals)
      : s_(s),
        t_(t),
        partial_(partial + t.row * chain_sums_pitch(s)),
        constants_(constants),
        share_(s, shared_address(t.shared), cluster, arrivals) {}

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
