#pragma once
/// The rows of a chain's tile: which they are, how they come into shared memory, and what becomes
/// of them before they are multiplied. All through a chain a thread works on one row, together with
/// its neighbours: what it must know of the row is found once.
#include "backend/cuda/kernels/chain.h"
#include "backend/cuda/kernels/cluster.cuh"
#include "backend/cuda/kernels/convert.cuh"
#include "backend/cuda/kernels/mma.cuh"

namespace assay::backend::cuda {

/// A quotient of small numbers by its inverse: with half a divisor to spare, fp32 has it exactly.
__device__ inline int quotient(int number, float inverse) {
  return static_cast<int>((static_cast<float>(number) + 0.5F) * inverse);
}

/// The row of an image's view that row 0 of a sequence is, and row `row` of one that begins there.
__device__ inline int first_line(const Chain& c, int sequence) {
  if (c.patch == 0) return sequence * c.length;
  return sequence / c.patch * c.map_width + sequence % c.patch;
}
__device__ inline int line_of(const Chain& c, int first, int row) {
  if (c.patch == 0) return first + row;
  // Each line of patches is map_width pixels wide, of which the sequence's rows count one in patch.
  return first + quotient(row, c.patches_each) * (c.patch - 1) * c.map_width + row * c.patch;
}

__device__ inline std::int64_t offset_of(const View& view, int image, int line) {
  return image * view.image_stride + static_cast<std::int64_t>(line) * view.row_stride;
}

/// What a thread knows of its cluster's tile, and of its own row of it.
template <int kBands>
struct ChainTile {
  static constexpr int kRows = kBands * 16;
  static constexpr int kSharing = kChainThreads / kRows;   ///< threads that share a row
  static constexpr int kOctetsEach = kBands == 1 ? 2 : 4;  ///< of a row that is normalized

  std::byte* shared = nullptr;
  int rank = 0;
  int image = 0;
  int begin = 0;  ///< the line of the sequence's row 0
  int first = 0;  ///< row of the sequence
  int row = 0;    ///< the thread's, of the tile
  int part = 0;   ///< which of those that share the row it is
  bool there = false;
  int line = 0;  ///< the thread's row in a view

  __device__ ChainTile(const Chain& c, std::byte* memory, int tile)
      : shared(memory),
        rank(cluster_rank()),
        row(static_cast<int>(threadIdx.x) / kSharing),
        part(static_cast<int>(threadIdx.x) % kSharing) {
    const int sequence = quotient(tile, c.tiles_each);
    first = (tile - sequence * ((c.length + kRows - 1) / kRows)) * kRows;
    image = quotient(sequence, c.sequences_each);
    begin = first_line(c, sequence - image * c.sequences);
    there = first + row < c.length;
    line = there ? line_of(c, begin, first + row) : 0;
  }
};

/// Copies the tile's rows, f16 in aligned octets, into shared memory; zeros where there are none.
template <int kBands>
__device__ void load_rows(const Chain& c, const ChainTile<kBands>& t) {
  const ChainStage& s = c.stages[0];
  const auto* const from = static_cast<const __half*>(c.a.data) + offset_of(c.a, t.image, t.line);
  const std::uint32_t to = shared_address(t.shared) + s.in + t.row * s.in_pitch;
#pragma unroll 2
  for (int k = t.part * 8; k < s.k; k += t.kSharing * 8) {
    copy_async<16>(to + k * 2, from + k, t.there);
  }
}

/// The same for the pixels under a convolution's kernel, in the order (ky, kx, channel).
template <int kBands>
__device__ void load_patches(const Chain& c, const ChainTile<kBands>& t) {
  const ChainStage& s = c.stages[0];
  const Window w = c.window;
  const int top = t.line / w.out_width * w.stride_y - w.pad_y;
  const int left = t.line % w.out_width * w.stride_x - w.pad_x;
  const auto* const image = static_cast<const __half*>(c.a.data) + t.image * c.a.image_stride;
  const std::uint32_t to = shared_address(t.shared) + s.in + t.row * s.in_pitch;
  int tap_y = 0;
  int tap_x = 0;
  int channel = t.part * 8;
#pragma unroll 2
  for (int k = channel; k < s.k; k += t.kSharing * 8) {
    while (channel >= w.channels) {
      channel -= w.channels;
      if (++tap_x == w.kernel_width) {
        tap_x = 0;
        ++tap_y;
      }
    }
    const int y = top + tap_y * w.dilation_y;
    const int x = left + tap_x * w.dilation_x;
    const bool inside = y >= 0 && y < w.in_height && x >= 0 && x < w.in_width;
    const int pixel = inside ? y * w.in_width + x : 0;
    copy_async<16>(to + k * 2, image + static_cast<std::int64_t>(pixel) * c.a.row_stride + channel,
                   t.there && inside);
    channel += t.kSharing * 8;
  }
}

/// Zeros from the end of each row to the end of its last step of depth.
template <int kBands>
__device__ void clear_ends(const ChainStage& s, const ChainTile<kBands>& t) {
  const int end = s.k * bytes_of(s.operand) + t.part * 8;
  if (end < s.steps * kStepBytes) {
    *reinterpret_cast<uint2*>(t.shared + s.in + t.row * s.in_pitch + end) = make_uint2(0, 0);
  }
}

/// Few LayerNorms have an activation behind them: not inlined, so that the others stay short.
static __device__ __noinline__ float activate_one(Act kind, float x) { return act(kind, x); }

template <int kLanes>
__device__ float sum_of_lanes(float x) {
#pragma unroll
  for (int lane = kLanes / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffffU, x, lane);
  return x;
}

/// Normalizes the stage's rows, or rounds them to codes, where they lie. The mean first, then the
/// mean squared difference from it (arXiv 1607.06450).
template <int kBands, bool kCodes>
__device__ void prepare_rows(const ChainStage& s, const ChainTile<kBands>& t,
                             const float* constants) {
  constexpr int kParts = ChainTile<kBands>::kOctetsEach;
  constexpr int kApart = ChainTile<kBands>::kSharing * 8;
  std::byte* const row = t.shared + s.in + t.row * s.in_pitch;
  const int begin = t.part * 8;
  float x[kParts][8];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    for (float& number : x[i]) number = 0;
    if (begin + i * kApart >= s.k) continue;
    std::uint32_t words[4];
    load_words(row + (begin + i * kApart) * 2, words);
    unpack_words<Store::f16>(words, 1.0F, x[i]);
    for (const float number : x[i]) sum += number;
  }
  if (s.norm >= 0) {
    const float each = s.inverse_k;
    const float mean = sum_of_lanes<ChainTile<kBands>::kSharing>(sum) * each;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      if (begin + i * kApart >= s.k) continue;
      for (const float number : x[i]) squares += (number - mean) * (number - mean);
    }
    const float inverse =
        rsqrtf(sum_of_lanes<ChainTile<kBands>::kSharing>(squares) * each + s.epsilon);
    const float* const weight = constants + s.norm / 4 + begin;
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      if (begin + i * kApart >= s.k) continue;
#pragma unroll
      for (int j = 0; j < 8; j += 4) {
        const float4 w = *reinterpret_cast<const float4*>(weight + i * kApart + j);
        const float4 b = *reinterpret_cast<const float4*>(weight + s.k + i * kApart + j);
        x[i][j] = (x[i][j] - mean) * inverse * w.x + b.x;
        x[i][j + 1] = (x[i][j + 1] - mean) * inverse * w.y + b.y;
        x[i][j + 2] = (x[i][j + 2] - mean) * inverse * w.z + b.z;
        x[i][j + 3] = (x[i][j + 3] - mean) * inverse * w.w + b.w;
      }
    }
  }
  if (s.in_act != Act::none) {
#pragma unroll
    for (auto& octet : x) {
#pragma unroll
      for (float& number : octet) number = activate_one(s.in_act, number);
    }
  }
  if (kCodes) __syncwarp();  // codes are shorter than what they replace: all have read theirs
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    if (begin + i * kApart >= s.k) continue;
    if (kCodes && s.operand == Store::e4m3) {
      std::uint32_t words[2];
      pack_words<Store::e4m3>(x[i], 1.0F / s.inverse_in_scale, words);
      store_words(row + begin + i * kApart, words);
    } else {
      std::uint32_t words[4];
      pack_words<Store::f16>(x[i], 1.0F, words);
      store_words(row + (begin + i * kApart) * 2, words);
    }
  }
}

}  // namespace assay::backend::cuda
