#pragma once
/// An inverted residual as one step (inverted_shape.h). Its three layers are three passes of the
/// block over shared memory, all of them products by the tensor cores; the 16 warps share the
/// pieces of each, and wait for each other in between.
#include "backend/cuda/kernels/cluster.cuh"
#include "backend/cuda/kernels/convert.cuh"
#include "backend/cuda/kernels/gate.cuh"
#include "backend/cuda/kernels/inverted_shape.h"
#include "backend/cuda/kernels/mma.cuh"
#include "backend/cuda/kernels/shared.cuh"

namespace assay::backend::cuda {

/// SiLU of four numbers by five of the special function units' instructions: each of those takes as
/// long as eight others, and one reciprocal of a product does for four.
__device__ inline void silu4(float (&x)[4]) {
  constexpr float kMinusLog2E = -1.4426950F;
  constexpr float kMost = 30.0F;  // the product of four stays finite; silu(-21) is 0 in fp16
  float e[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(fminf(x[i] * kMinusLog2E, kMost)));
    e[i] = 1.0F + power;
  }
  const float left = e[0] * e[1];
  const float right = e[2] * e[3];
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(left * right));
  const float of_left = inverse * right;
  const float of_right = inverse * left;
  x[0] *= of_left * e[1];
  x[1] *= of_left * e[0];
  x[2] *= of_right * e[3];
  x[3] *= of_right * e[2];
}

/// Pieces of a pass that a warp does: neighbours, so that it loads what they share once.
struct Share {
  int begin = 0, end = 0;
  __device__ explicit Share(int pieces) {
    const int each = (pieces + kInvertedWarps - 1) / kInvertedWarps;
    begin = static_cast<int>(threadIdx.x) / 32 * each;
    end = min(begin + each, pieces);
  }
};

template <int kStride, int kWidth, int kHeight, int kResident>
class InvertedTile {
 public:
  __device__ InvertedTile(const InvertedLaunch& launch, std::byte* shared)
      : v_(launch.step),
        layout_(launch.layout),
        s_(launch.shared),
        split_(launch.split),
        shared_(shared),
        base_(shared_address(shared)),
        lane_(static_cast<int>(threadIdx.x) % 32) {
    const int across = static_cast<int>(blockIdx.x);
    rank_ = across & (split_ - 1);
    out_x_ = (across >> (__ffs(split_) - 1)) * kWidth;
    out_y_ = static_cast<int>(blockIdx.y) * kHeight;
    image_ = static_cast<int>(blockIdx.z);
    groups_ = max(min(groups_of(v_) - rank_ * s_.groups, s_.groups), 0);
  }

  __device__ void run(Gate& gate) {
    __shared__ std::uint64_t weights_are_there;
    fetch_weights(&weights_are_there);
    fetch_bias();
    mark_inside();
    gate.open();
    fetch_pixels();
    wait_copies<0>();
    __syncthreads();
    wait(shared_address(&weights_are_there), 0);
    expand();
    __syncthreads();
    convolve();
    __syncthreads();
    // From here on the others may write over this block's expanded map.
    if (split_ > 1) cluster_arrive();
    project();
    if (split_ > 1) add_up();
  }

 private:
  static constexpr int kHaloWidth = halo_length(kWidth, kStride);
  static constexpr int kHaloHeight = halo_length(kHeight, kStride);
  static constexpr int kHaloPixels = kHaloWidth * kHaloHeight;
  static constexpr int kHaloBands = halo_bands(kWidth, kHeight, kStride);
  static constexpr int kBands = kWidth * kHeight / 16;
  static_assert(kWidth * kHeight % 16 == 0, "a product has bands of 16 rows");

  /// Weights are constants: they come while the kernels in front still run.
  __device__ void fetch_weights(std::uint64_t* barrier) {
    if (threadIdx.x == 0) {
      const std::uint32_t at = shared_address(barrier);
      init_barrier(at, 1);
      publish_barriers();
      copy_bulk(shared_address(shared_),
                v_.weights + static_cast<std::int64_t>(rank_) * s_.groups * layout_.bytes,
                groups_ * layout_.bytes, at);
    }
  }

  __device__ void fetch_bias() {
    const int part = static_cast<int>(threadIdx.x) * 4;
    if (part < v_.out_channels) copy_async<16>(base_ + s_.bias + part * 4, v_.bias + part, true);
  }

  /// Whether pixel `index` under the tile is in the image; where, says `pixel`.
  __device__ bool find(int index, int& pixel) const {
    const int y = out_y_ * kStride - 1 + index / kHaloWidth;
    const int x = out_x_ * kStride - 1 + index % kHaloWidth;
    pixel = y * v_.in_width + x;
    return y >= 0 && y < v_.in_height && x >= 0 && x < v_.in_width;
  }

  __device__ void mark_inside() {
    auto* const inside = reinterpret_cast<std::uint32_t*>(shared_ + s_.inside);
    for (int i = static_cast<int>(threadIdx.x); i < kHaloBands * 16; i += kInvertedThreads) {
      int pixel = 0;
      inside[i] = i < kHaloPixels && find(i, pixel) ? 0xFFFFFFFFU : 0U;
    }
  }

  __device__ void fetch_pixels() {
    const int units = rounded_up(v_.channels, 16) / 8;
    const int together = kInvertedThreads / units;
    const int first = static_cast<int>(threadIdx.x) / units;
    const int unit = static_cast<int>(threadIdx.x) - first * units;
    if (first >= together) return;
    const bool there = unit < v_.channels / 8;
    const __half* const from =
        static_cast<const __half*>(v_.in.data) + image_ * v_.in.image_stride + unit * 8;
    const std::uint32_t to = base_ + s_.in + unit * 16;
    for (int i = first; i < kHaloPixels; i += together) {
      int pixel = 0;
      const bool copies = find(i, pixel) && there;
      copy_async<16>(to + i * s_.in_pitch,
                     copies ? from + static_cast<std::int64_t>(pixel) * v_.in.row_stride : from,
                     copies);
    }
    commit_copies();
  }

  [[nodiscard]] __device__ std::uint32_t group_at(int group) const {
    return base_ + group * layout_.bytes;
  }
  /// Where this lane's row of a 16 × 16 matrix lies whose rows begin at `rows`.
  [[nodiscard]] __device__ std::uint32_t matrix_at(std::uint32_t rows, int pitch) const {
    return rows + lane_ % 16 * pitch + lane_ / 16 * 16;
  }

  /// The first pass: a piece is a group of channels of a band of pixels, or two groups.
  __device__ void expand() {
    if (kResident == 1 && s_.abreast == 2) {
      expand_groups<2>();
    } else {
      expand_groups<1>();
    }
  }

  template <int kAbreast>
  __device__ void expand_groups() {
    const Share share((groups_ + kAbreast - 1) / kAbreast * kHaloBands);
    int piece = share.begin;
    while (piece < share.end) {
      const int group = piece / kHaloBands * kAbreast;
      const int band = piece % kHaloBands;
      if (piece + 1 < share.end && band + 1 < kHaloBands) {
        expand_bands<kAbreast, 2>(group, band);
        piece += 2;
      } else {
        expand_bands<kAbreast, 1>(group, band);
        ++piece;
      }
    }
  }

  template <int kAbreast, int kCount>
  __device__ void expand_bands(int group, int band) {
    const std::uint32_t weights = group_at(group);
    float sums[kCount][kAbreast * 2][4];
#pragma unroll
    for (int strip = 0; strip < kAbreast * 2; ++strip) {
      const float2 bias = load_shared2(weights + strip / 2 * layout_.bytes + layout_.expand_bias +
                                       strip % 2 * 32 + lane_ % 4 * 8);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        sums[i][strip][0] = sums[i][strip][2] = bias.x;
        sums[i][strip][1] = sums[i][strip][3] = bias.y;
      }
    }
    std::uint32_t right_at = weights + lane_ * 16;
    std::uint32_t left_at = matrix_at(base_ + s_.in + band * 16 * s_.in_pitch, s_.in_pitch);
    const int steps = rounded_up(v_.channels, 16) / 16;
#pragma unroll 2
    for (int step = 0; step < steps; ++step) {
      std::uint32_t right[kAbreast][4];
#pragma unroll
      for (int i = 0; i < kAbreast; ++i) load_shared4(right[i], right_at + i * layout_.bytes);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        std::uint32_t left[4];
        load_matrices(left, left_at + i * 16 * s_.in_pitch);
#pragma unroll
        for (int strip = 0; strip < kAbreast * 2; ++strip) {
          multiply_add<__half>(sums[i][strip], left, right[strip / 2][strip % 2 * 2],
                               right[strip / 2][strip % 2 * 2 + 1]);
        }
      }
      right_at += 512;
      left_at += 32;
    }
    const std::uint32_t to =
        matrix_at(base_ + s_.wide + band * 16 * s_.wide_pitch + group * 32, s_.wide_pitch);
    const std::uint32_t inside_at = base_ + s_.inside + (band * 16 + lane_ / 4) * 4;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      // The depthwise convolution is padded with zeros, not with what the bias makes of them.
      const std::uint32_t top = load_shared1(inside_at + i * 64);
      const std::uint32_t bottom = load_shared1(inside_at + i * 64 + 32);
#pragma unroll
      for (int strip = 0; strip < kAbreast * 2; strip += 2) {
        float(&left)[4] = sums[i][strip];
        float(&right)[4] = sums[i][strip + 1];
        silu4(left);
        silu4(right);
        store_matrices(to + i * 16 * s_.wide_pitch + strip * 16, pack_f16(left[0], left[1]) & top,
                       pack_f16(left[2], left[3]) & bottom, pack_f16(right[0], right[1]) & top,
                       pack_f16(right[2], right[3]) & bottom);
      }
    }
  }

  /// The second pass: a thread computes two channels of a run of output pixels.
  __device__ void convolve() {
    if (s_.run == 8) {
      convolve_runs<8>();
    } else if (s_.run == 4) {
      convolve_runs<4>();
    } else {
      convolve_runs<2>();
    }
  }

  template <int kRun>
  __device__ void convolve_runs() {
    if constexpr (kRun <= kWidth) {
      const int pairs = groups_ * kGroupChannels / 2;
      for (int i = static_cast<int>(threadIdx.x); i < kWidth * kHeight / kRun * pairs;
           i += kInvertedThreads) {
        const int run = i / pairs;
        convolve_run<kRun>(i - run * pairs, run * kRun / kWidth, run * kRun % kWidth);
      }
    }
  }

  template <int kRun>
  __device__ void convolve_run(int pair, int y, int x) {
    constexpr int kColumns = halo_length(kRun, kStride);
    const std::uint32_t weights = group_at(pair / 8) + pair % 8 * 8;
    const float2 bias = load_shared2(weights + layout_.depthwise_bias);
    float2 sums[kRun];
#pragma unroll
    for (float2& sum : sums) sum = bias;
    const std::uint32_t from =
        base_ + s_.wide + (y * kHaloWidth + x) * kStride * s_.wide_pitch + pair * 4;
#pragma unroll
    for (int row = 0; row < 3; ++row) {
      float2 taps[3];
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        taps[i] = load_shared2(weights + layout_.depthwise + (row * 3 + i) * kGroupChannels * 4);
      }
#pragma unroll
      for (int column = 0; column < kColumns; ++column) {
        const float2 pixel =
            floats_of_f16(load_shared1(from + (row * kHaloWidth + column) * s_.wide_pitch));
#pragma unroll
        for (int i = 0; i < 3; ++i) {
          if (column < i || (column - i) % kStride != 0 || (column - i) / kStride >= kRun) continue;
          float2& sum = sums[(column - i) / kStride];
          sum = make_float2(fmaf(pixel.x, taps[i].x, sum.x), fmaf(pixel.y, taps[i].y, sum.y));
        }
      }
    }
    const std::uint32_t to = base_ + s_.narrow + (y * kWidth + x) * s_.wide_pitch + pair * 4;
#pragma unroll
    for (int i = 0; i < kRun; i += 2) {
      float four[4] = {sums[i].x, sums[i].y, sums[i + 1].x, sums[i + 1].y};
      silu4(four);
      store_shared(to + i * s_.wide_pitch, pack_f16(four[0], four[1]));
      store_shared(to + (i + 1) * s_.wide_pitch, pack_f16(four[2], four[3]));
    }
  }

  /// The third pass: a piece is a strip of output channels of 16 pixels. Sharing its depth among
  /// warps, too, takes longer: adding up what they have is yet more code to fetch.
  __device__ void project() {
    bool waited = split_ == 1;
#pragma unroll 1
    for (int piece = static_cast<int>(threadIdx.x) / 32;
         piece < strips_of(v_.out_channels) * kBands; piece += kInvertedWarps) {
      const int band = piece % kBands;
      const int strip = piece / kBands;
      float sums[2][2][4] = {};
      std::uint32_t left_at =
          matrix_at(base_ + s_.narrow + band * 16 * s_.wide_pitch, s_.wide_pitch);
      std::uint32_t right_at = base_ + layout_.project + strip * 512 + lane_ * 16;
      const auto multiply = [&](float(&sum)[2][4]) {
        std::uint32_t left[4];
        std::uint32_t right[4];
        load_matrices(left, left_at);
        load_shared4(right, right_at);
        multiply_add<__half>(sum[0], left, right[0], right[1]);
        multiply_add<__half>(sum[1], left, right[2], right[3]);
        left_at += 32;
        right_at += layout_.bytes;
      };
      int group = 0;
#pragma unroll 1
      for (; group + 3 < groups_; group += 4) {
        multiply(sums[0]);
        multiply(sums[1]);
        multiply(sums[0]);
        multiply(sums[1]);
      }
#pragma unroll 1
      for (; group < groups_; ++group) multiply(sums[0]);
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[0][i / 4][i % 4] += sums[1][i / 4][i % 4];
      if (split_ == 1) {
        write(band, strip, sums[0]);
        continue;
      }
      if (!waited) cluster_wait();
      waited = true;
      const int owner = strip / s_.own_strips;
      const std::uint32_t to =
          base_ + sums_at(rank_, band, strip - owner * s_.own_strips) + lane_ * 16;
      for (int half = 0; half < 2; ++half) {
        const float(&x)[4] = sums[0][half];
        store_in_cluster(address_in(to + half * 512, owner), make_float4(x[0], x[1], x[2], x[3]));
      }
    }
    if (!waited) cluster_wait();
  }

  /// Where a block gets the sums of the cluster's block `from`.
  [[nodiscard]] __device__ int sums_at(int from, int band, int own_strip) const {
    return s_.wide + ((from * kBands + band) * s_.own_strips + own_strip) * 1024;
  }

  /// Each block adds up and writes some of the tile's channels.
  __device__ void add_up() {
    cluster_arrive();
    cluster_wait();
    const int own = min(strips_of(v_.out_channels) - rank_ * s_.own_strips, s_.own_strips);
#pragma unroll 1
    for (int piece = static_cast<int>(threadIdx.x) / 32; piece < own * kBands * 2;
         piece += kInvertedWarps) {
      const int half = piece & 1;
      const int band = piece / 2 % kBands;
      const int strip = piece / 2 / kBands;
      const std::uint32_t from = base_ + sums_at(0, band, strip) + half * 512 + lane_ * 16;
      const int next = kBands * s_.own_strips * 1024;
      float sum[4] = {};
#pragma unroll 4
      for (int block = 0; block < split_; ++block) {
        std::uint32_t part[4];
        load_shared4(part, from + block * next);
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[i] += __uint_as_float(part[i]);
      }
      write(band, (rank_ * s_.own_strips + strip) * 16 + half * 8, sum);
    }
  }

  __device__ void write(int band, int strip, const float (&sums)[2][4]) const {
    write(band, strip * 16, sums[0]);
    write(band, strip * 16 + 8, sums[1]);
  }

  /// Writes a fragment: two channels of the pixels lane / 4 and 8 further on.
  __device__ void write(int band, int first_channel, const float (&sum)[4]) const {
    if (first_channel >= v_.out_channels) return;
    const int channel = first_channel + lane_ % 4 * 2;
    const float2 bias = load_shared2(base_ + s_.bias + channel * 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = band * 16 + half * 8 + lane_ / 4;
      const int y = pixel / kWidth;
      const int x = pixel % kWidth;
      float2 out = make_float2(sum[half * 2] + bias.x, sum[half * 2 + 1] + bias.y);
      if (kStride == 1 && v_.has_residual != 0) {
        const float2 residual = floats_of_f16(load_shared1(
            base_ + s_.in + ((y + 1) * kHaloWidth + x + 1) * s_.in_pitch + channel * 2));
        out = make_float2(out.x + residual.x, out.y + residual.y);
      }
      if (out_y_ + y >= v_.out_height || out_x_ + x >= v_.out_width) continue;
      const std::int64_t row = static_cast<std::int64_t>(out_y_ + y) * v_.out_width + out_x_ + x;
      *reinterpret_cast<std::uint32_t*>(static_cast<__half*>(v_.out.data) +
                                        image_ * v_.out.image_stride + row * v_.out.row_stride +
                                        channel) = pack_f16(out.x, out.y);
    }
  }

  const Inverted& v_;
  const GroupLayout& layout_;
  const InvertedShared& s_;
  int split_;
  std::byte* shared_;
  std::uint32_t base_;
  int lane_;
  int rank_ = 0;
  int out_x_ = 0;
  int out_y_ = 0;
  int image_ = 0;
  int groups_ = 0;  ///< of this block
};

}  // namespace assay::backend::cuda
