#pragma once
/// The attention stage of a chain: a cluster's blocks share the heads and bands of 16 queries; the
/// warps of a block share the keys, 16 at a time, and then the output's columns and the depth.
/// Keys, values, probabilities and partial sums lie in shared memory (arXiv 1706.03762).
#include <limits>

#include "backend/cuda/kernels/chain_product.cuh"
#include "backend/cuda/kernels/chain_shape.h"

namespace assay::backend::cuda {

/// `kBands` × 16 queries of one sequence.
template <int kBands, bool kCodes>
class ChainAttend {
 public:
  using Tile = ChainTile<kBands>;

  __device__ ChainAttend(const Chain& c, const ChainStage& s, const Tile& tile,
                         std::uint32_t arrivals)
      : c_(c),
        s_(s),
        a_(c.attention),
        t_(tile),
        arrivals_(arrivals),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32),
        deep_(chain_head_depth(a_)),
        pitch_(chain_head_pitch(a_)),
        groups_((a_.keys + 15) / 16),
        probability_pitch_(chain_probability_pitch(a_)) {
    std::byte* at = tile.shared + a_.scratch;
    keys_ = at;
    values_ = keys_ + groups_ * 16 * pitch_;
    queries_ = values_ + groups_ * 16 * pitch_;
    probabilities_ = queries_ + Tile::kRows * pitch_;
    largest_ = reinterpret_cast<float*>(probabilities_ + 16 * probability_pitch_);
    sums_ = largest_ + 16 * kChainWarps;
    partial_ = sums_ + 16 * kChainWarps;
  }

  __device__ void run() {
    const int items = a_.heads * kBands;
    const int each = (items + c_.cluster - 1) / c_.cluster;
    int item = t_.rank * each;
    const int end = min(item + each, items);
#pragma unroll 1
    while (item < end) {
      const int head = item / kBands;
      const int band_end = min(end, (head + 1) * kBands) - head * kBands;
      load_head(head);
#pragma unroll 1
      for (int band = item - head * kBands; band < band_end; ++band) {
        attend(head, band);
      }
      item = head * kBands + band_end;
      __syncthreads();  // everyone has read this head's values
    }
  }

 private:
  static constexpr float kNothing = -std::numeric_limits<float>::infinity();
  static constexpr int kGroups = 2;   ///< of 16 keys, a warp
  static constexpr int kSharing = 8;  ///< threads that copy a row

  /// Where this thread's piece of a row of `view` begins, of the head: 8 threads copy a row.
  [[nodiscard]] __device__ const __half* piece_of(const View& view, int head) const {
    return static_cast<const __half*>(view.data) + t_.image * view.image_stride + head * a_.head +
           static_cast<int>(threadIdx.x) % kSharing * 8;
  }

  /// Queries, keys and values, 64 rows at a time. Behind the head's columns and the last row there
  /// are zeros.
  __device__ void load_head(int head) const {
    const int column = static_cast<int>(threadIdx.x) % kSharing * 8;
    const int row = static_cast<int>(threadIdx.x) / kSharing;
    constexpr int kApart = kChainThreads / kSharing;
    if (column < deep_) {
      const bool mine = column < a_.head;
      const __half* const k = piece_of(a_.k, head);
      const __half* const v = piece_of(a_.v, head);
      const std::uint32_t to = static_cast<std::uint32_t>(row * pitch_ + column * 2);
      std::uint32_t keys = shared_address(keys_) + to;
      std::uint32_t values = shared_address(values_) + to;
#pragma unroll 2
      for (int key = row; key < groups_ * 16; key += kApart) {
        const bool there = mine && key < a_.keys;
        const std::int64_t line = there ? line_of(c_, t_.begin, key) : 0;
        copy_async<16>(keys, k + line * a_.k.row_stride, there);
        copy_async<16>(values, v + line * a_.v.row_stride, there);
        keys += kApart * pitch_;
        values += kApart * pitch_;
      }
      if (a_.in_chain == 0 && row < Tile::kRows) {
        const bool there = mine && t_.first + row < c_.length;
        const std::int64_t line = there ? line_of(c_, t_.begin, t_.first + row) : 0;
        copy_async<16>(shared_address(queries_) + to, piece_of(a_.q, head) + line * a_.q.row_stride,
                       there);
      }
    }
    commit_copies();
    wait_copies<0>();
    __syncthreads();
  }

  __device__ void attend(int head, int band) {
    float scores[kGroups][2][4];
    multiply_keys(head, band, scores);
    __syncthreads();
    soften(scores);
    __syncthreads();
    multiply_values();
    __syncthreads();
    finish(head, band);
  }

  [[nodiscard]] __device__ std::uint32_t query_address(int head, int band) const {
    if (a_.in_chain != 0) {
      return shared_address(t_.shared + s_.in + (band * 16 + lane_ % 16) * s_.in_pitch +
                            head * a_.head * 2 + lane_ / 16 * 16);
    }
    return shared_address(queries_ + (band * 16 + lane_ % 16) * pitch_ + lane_ / 16 * 16);
  }

  /// Scores of 16 queries × the warp's keys, and the largest of each row.
  __device__ void multiply_keys(int head, int band, float (&scores)[kGroups][2][4]) {
    const std::uint32_t query = query_address(head, band);
    float largest[2] = {kNothing, kNothing};
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int group = warp_ + i * kChainWarps;
      float(&score)[2][4] = scores[i];
#pragma unroll
      for (int j = 0; j < 8; ++j) score[j / 4][j % 4] = 0;
      if (group < groups_) {
        const std::uint32_t key = shared_address(
            keys_ + (group * 16 + lane_ % 8 + lane_ / 16 * 8) * pitch_ + lane_ / 8 % 2 * 16);
#pragma unroll 2
        for (int byte = 0; byte < deep_ * 2; byte += kStepBytes) {
          std::uint32_t q[4];
          std::uint32_t k[4];
          load_matrices(q, query + byte);
          load_matrices(k, key + byte);
          multiply_add<__half>(score[0], q, k[0], k[1]);
          multiply_add<__half>(score[1], q, k[2], k[3]);
        }
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int key = group * 16 + j / 4 * 8 + lane_ % 4 * 2 + j % 2;
        float& x = score[j / 4][j % 4];
        x = key < a_.keys ? x * (a_.scale * kLog2E) : kNothing;
        largest[j / 2 % 2] = fmaxf(largest[j / 2 % 2], x);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float x = fmaxf(largest[half], __shfl_xor_sync(0xffffffffU, largest[half], 1));
      x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, 2));
      if (lane_ % 4 == 0) largest_[(lane_ / 4 + half * 8) * kChainWarps + warp_] = x;
    }
  }

  /// Scores become exp2(score - the row's largest), rounded to f16, and their sums.
  __device__ void soften(float (&scores)[kGroups][2][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane_ / 4 + half * 8;
      const float largest = over_warps(largest_, row, [](float x, float y) { return fmaxf(x, y); });
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        const int group = warp_ + i * kChainWarps;
        if (group >= groups_) continue;
#pragma unroll
        for (int strip = 0; strip < 2; ++strip) {
          const float low = power_of_two(scores[i][strip][half * 2] - largest);
          const float high = power_of_two(scores[i][strip][half * 2 + 1] - largest);
          sum += low + high;
          *reinterpret_cast<std::uint32_t*>(probabilities_ + row * probability_pitch_ +
                                            (group * 16 + strip * 8 + lane_ % 4 * 2) * 2) =
              pack_f16(low, high);
        }
      }
      sum += __shfl_xor_sync(0xffffffffU, sum, 1);
      sum += __shfl_xor_sync(0xffffffffU, sum, 2);
      if (lane_ % 4 == 0) sums_[row * kChainWarps + warp_] = sum;
    }
  }

  template <typename Join>
  [[nodiscard]] __device__ float over_warps(const float* parts, int row, const Join& join) const {
    const auto* const from = reinterpret_cast<const float4*>(parts + row * kChainWarps);
    float x = join(join(from[0].x, from[0].y), join(from[0].z, from[0].w));
#pragma unroll
    for (int i = 1; i < kChainWarps / 4; ++i) {
      x = join(x, join(join(from[i].x, from[i].y), join(from[i].z, from[i].w)));
    }
    return x;
  }

  [[nodiscard]] __device__ int sharing() const { return kChainWarps / (deep_ / 16); }
  [[nodiscard]] __device__ int partial_pitch() const { return deep_ + kQuad; }

  /// A warp has 16 columns, and shares the keys with those that have the same ones.
  __device__ void multiply_values() {
    const int across = deep_ / 16;
    const int part = warp_ / across;
    const int column = warp_ % across * 16;
    if (part >= sharing()) return;
    float sums[2][4] = {};
    const std::uint32_t p =
        shared_address(probabilities_ + lane_ % 16 * probability_pitch_ + lane_ / 16 * 16);
    const std::uint32_t v =
        shared_address(values_ + lane_ % 16 * pitch_ + (column + lane_ / 16 * 8) * 2);
#pragma unroll 2
    for (int group = part; group < groups_; group += sharing()) {
      std::uint32_t left[4];
      std::uint32_t right[4];
      load_matrices(left, p + group * kStepBytes);
      load_transposed(right, v + group * 16 * pitch_);
      multiply_add<__half>(sums[0], left, right[0], right[1]);
      multiply_add<__half>(sums[1], left, right[2], right[3]);
    }
    float* const row =
        partial_ + (part * 16 + lane_ / 4) * partial_pitch() + column + lane_ % 4 * 2;
#pragma unroll
    for (int strip = 0; strip < 2; ++strip) {
      *reinterpret_cast<float2*>(row + strip * 8) = make_float2(sums[strip][0], sums[strip][1]);
      *reinterpret_cast<float2*>(row + 8 * partial_pitch() + strip * 8) =
          make_float2(sums[strip][2], sums[strip][3]);
    }
  }

  /// A row a warp.
  __device__ void finish(int head, int band) const {
    static_assert(kChainWarps == 16);
    const int column = lane_ * kQuad;
    if (column >= a_.head) return;
    const float* from = partial_ + warp_ * partial_pitch() + column;
    float4 x = make_float4(0, 0, 0, 0);
    const int parts = sharing();
    const int apart = 16 * partial_pitch();
#pragma unroll 4
    for (int part = 0; part < parts; ++part, from += apart) {
      const float4 y = *reinterpret_cast<const float4*>(from);
      x = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    const float each = __fdividef(
        1.0F, over_warps(sums_, warp_, [](float some, float other) { return some + other; }));
    const ChainShare share(s_, shared_address(t_.shared), c_.cluster, arrivals_);
    share.template write<kCodes>(band * 16 + warp_, head * a_.head + column,
                                 make_float4(x.x * each, x.y * each, x.z * each, x.w * each));
  }

  static constexpr float kLog2E = 1.44269504F;

  const Chain& c_;
  const ChainStage& s_;
  const ChainAttention a_;
  const Tile& t_;
  std::uint32_t arrivals_;
  int warp_;
  int lane_;
  int deep_;  ///< columns of a head with the zeros behind them
  int pitch_;
  int groups_;
  int probability_pitch_;
  std::byte* keys_;
  std::byte* values_;
  std::byte* queries_;
  std::byte* probabilities_;
  float* largest_;
  float* sums_;
  float* partial_;
};

}  // namespace assay::backend::cuda
