#pragma once
/// Where the rows of attention's operands lie, and how they reach registers and shared memory.
#include <type_traits>

#include "backend/cuda/kernels/attention_shape.h"
#include "backend/cuda/kernels/convert.cuh"
#include "backend/cuda/kernels/gate.cuh"
#include "backend/cuda/kernels/mma.cuh"

namespace assay::backend::cuda {

/// Whose queries a tile computes.
struct AttentionPlace {
  int image = 0;
  int sequence = 0;
  int head = 0;
  int first_query = 0;
};

__device__ inline AttentionPlace attention_place(const Attention& a, int tile) {
  const int across = (a.queries + kQueriesATile - 1) / kQueriesATile;
  const int head = tile / across;
  const int sequence = head / a.heads;
  return {sequence / a.sequences, sequence % a.sequences, head % a.heads,
          tile % across * kQueriesATile};
}

/// Where row `row` of the place's sequence, `length` rows long, begins in its head's columns.
__device__ inline std::int64_t attention_offset(const Attention& a, const View& view,
                                                const AttentionPlace& place, int head_stride,
                                                int length, int row) {
  int line = place.sequence * length + row;
  if (a.patch != 0) {
    const int across = a.map_width / a.patch;
    line = (row / across * a.patch + place.sequence / a.patch) * a.map_width +
           row % across * a.patch + place.sequence % a.patch;
  }
  return at(view, place.image, line, place.head * head_stride);
}

/// A number as the products take it: at e4m3 the code, which f16 holds exactly.
template <typename Operand>
__device__ Operand as_operand(const Attention& a, float x, float scale) {
  if (a.operand != Store::e4m3) return Operand(x);
  return Operand(static_cast<float>(__nv_fp8_e4m3(x * (1.0F / scale))));
}

template <typename Operand>
__device__ std::uint32_t pack(Operand low, Operand high) {
  const Operand pair[2] = {low, high};
  return *reinterpret_cast<const std::uint32_t*>(pair);
}

/// Whether the view's numbers are the operands as they lie.
template <typename Operand>
__device__ bool lies_ready(const Attention& a, const View& view) {
  constexpr Store kStore =
      sizeof(Operand) == 2 && std::is_same_v<Operand, __half> ? Store::f16 : Store::bf16;
  return view.store == kStore && a.operand == kStore;
}

/// Numbers `column` and the next of the row that begins at `offset`; zeros outside the head and
/// where the row is not `there`. `ready`: pairs can be loaded as they lie.
template <typename Operand>
__device__ std::uint32_t load_pair(const Attention& a, const View& view, std::int64_t offset,
                                   int column, bool there, bool ready, float scale) {
  if (!there || column >= a.head_size) return 0;
  if (ready) {
    return *reinterpret_cast<const std::uint32_t*>(static_cast<const Operand*>(view.data) + offset +
                                                   column);
  }
  const float low = load1(view, offset + column);
  const float high = column + 1 < a.head_size ? load1(view, offset + column + 1) : 0.0F;
  return pack(as_operand<Operand>(a, low, scale), as_operand<Operand>(a, high, scale));
}

/// Copies 32 rows of a head, `kBytes` at a time. Each lane knows where one row begins.
template <typename Operand, int kHeadSize, int kBytes>
__device__ void copy_rows(const Attention& a, const Operand* row, bool there, Operand* to) {
  constexpr int kPiece = kBytes / static_cast<int>(sizeof(Operand));
  constexpr int kPieces = kHeadSize / kPiece;
  static_assert(32 % kPieces == 0 || kPieces % 32 == 0);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int column = lane % kPieces * kPiece;
  const auto address = reinterpret_cast<unsigned long long>(row);
  const unsigned rows_there = __ballot_sync(0xffffffffU, there);
  Operand* target = to + lane / kPieces * attention_pitch(kHeadSize) + column;
#pragma unroll 8
  for (int i = 0; i < kPieces; ++i) {
    const int from = i * (32 / kPieces) + lane / kPieces;
    const auto* const begin =
        reinterpret_cast<const Operand*>(__shfl_sync(0xffffffffU, address, from));
    copy_async<kBytes>(shared_address(target), begin + column,
                       column < a.head_size && (rows_there >> from & 1U) != 0);
    target += 32 / kPieces * attention_pitch(kHeadSize);
  }
}

/// Rows of any type, number by number.
template <typename Operand, int kHeadSize>
__device__ __noinline__ void convert_rows(const Attention& a, const View& view, std::int64_t offset,
                                          bool there, float scale, Operand* to) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
  for (int column = 0; column < kHeadSize; ++column) {
    const float x = there && column < a.head_size ? load1(view, offset + column) : 0.0F;
    to[lane * attention_pitch(kHeadSize) + column] = as_operand<Operand>(a, x, scale);
  }
}

/// How many bytes at a time rows of a head can be copied as they lie: 16, 8, 4, or 0 for not at
/// all.
template <typename Operand>
__device__ int bytes_at_once(const Attention& a, const View& view, int head_stride) {
  if (!lies_ready<Operand>(a, view)) return 0;
  const auto together =
      static_cast<unsigned>(view.row_stride | head_stride | a.head_size) |
      static_cast<unsigned>(view.image_stride) |
      static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(view.data) / sizeof(Operand));
  return together % 8 == 0 ? 16 : together % 4 == 0 ? 8 : together % 2 == 0 ? 4 : 0;
}

/// Keys [first, first + 32) of a head, of k or v, by one warp; zeros where there are none.
template <typename Operand, int kHeadSize>
__device__ void load_rows(const Attention& a, const View& view, const AttentionPlace& place,
                          int head_stride, float scale, int first, int bytes, Operand* to) {
  const int row = first + static_cast<int>(threadIdx.x) % 32;
  const bool there = row < a.keys;
  const std::int64_t offset =
      attention_offset(a, view, place, head_stride, a.keys, there ? row : 0);
  const Operand* const from = static_cast<const Operand*>(view.data) + offset;
  if (bytes == 16) return copy_rows<Operand, kHeadSize, 16>(a, from, there, to);
  if constexpr (kHeadSize <= 64) {
    if (bytes == 8) return copy_rows<Operand, kHeadSize, 8>(a, from, there, to);
    if (bytes == 4) return copy_rows<Operand, kHeadSize, 4>(a, from, there, to);
  }
  convert_rows<Operand, kHeadSize>(a, view, offset, there, scale, to);
}

/// What scores are multiplied by, for exp2 instead of exp.
__device__ inline float score_scale(const Attention& a) {
  const float codes = a.operand == Store::e4m3 ? a.q_scale * a.k_scale : 1.0F;
  return a.scale * codes * 1.44269504F;
}

/// At e4m3 probabilities have the scale 1/448 (graph::Precision).
inline constexpr float kProbabilityScale = 448.0F;
__device__ inline float output_scale(const Attention& a) {
  return a.operand == Store::e4m3 ? a.v_scale / kProbabilityScale : 1.0F;
}

template <typename Operand>
__device__ std::uint32_t pack_probabilities(const Attention& a, float low, float high) {
  if (a.operand != Store::e4m3) return pack(Operand(low), Operand(high));
  constexpr float kInverse = 1.0F / kProbabilityScale;
  return pack(as_operand<Operand>(a, low, kInverse), as_operand<Operand>(a, high, kInverse));
}

}  // namespace assay::backend::cuda
