#pragma once
#include "backend/cuda/kernels/convert.cuh"
#include "backend/cuda/kernels/gate.cuh"
#include "backend/cuda/kernels/movement.cuh"
#include "backend/cuda/kernels/step_shape.cuh"

namespace assay::backend::cuda {

__device__ inline void load_constants8(const float* from, float (&x)[8]) {
  const float4 low = __ldg(reinterpret_cast<const float4*>(from));
  const float4 high = __ldg(reinterpret_cast<const float4*>(from) + 1);
  x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
  x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

/// Eight channels of an output pixel a thread: neighbours read the same pixels.
__device__ inline void run(const Stem& s, const Call& call, Worker worker, Gate& gate,
                           std::byte* /*shared*/) {
  const int across = s.n / kStemColumns;
  const Window& w = s.window;
  const std::int64_t pixels = static_cast<std::int64_t>(w.in_height) * w.in_width;
  for_each(stem_pieces(s) * call.batch, worker, gate, [&](std::int64_t i) {
    const int column = static_cast<int>(i % across) * kStemColumns;
    const auto place = static_cast<int>(i / across);
    const int image = place / s.rows;
    const int row = place % s.rows;
    const int top = row / w.out_width * w.stride_y - w.pad_y;
    const int left = row % w.out_width * w.stride_x - w.pad_x;
    float x[kStemColumns] = {};
    if (s.bias != nullptr) load_constants8(s.bias + column, x);
    for (int ky = 0; ky < w.kernel_height; ++ky) {
#pragma unroll 3
      for (int kx = 0; kx < w.kernel_width; ++kx) {
        const int y = top + ky * w.dilation_y;
        const int across_at = left + kx * w.dilation_x;
        const bool inside = y >= 0 && y < w.in_height && across_at >= 0 && across_at < w.in_width;
        const std::int64_t pixel =
            image * pixels + (inside ? static_cast<std::int64_t>(y) * w.in_width + across_at : 0);
        const float* weight = s.weight + (ky * w.kernel_width + kx) * 3 * s.n + column;
#pragma unroll
        for (int channel = 0; channel < 3; ++channel, weight += s.n) {
          const float number = normalized(call.pixels, pixel, channel);
          const float rounded = inside ? __half2float(__float2half_rn(number)) : 0.0F;
          float factors[kStemColumns];
          load_constants8(weight, factors);
#pragma unroll
          for (int j = 0; j < kStemColumns; ++j) x[j] = fmaf(rounded, factors[j], x[j]);
        }
      }
    }
    activate(s.act, x);
    store_as<Store::f16>(s.out, at(s.out, image, row, column), x);
  });
}

/// A block finds the mean of an image in shared memory, in an order that is always the same, and
/// then has an output a warp and round.
__device__ inline void run(const Pooled& p, const Call& /*call*/, Worker worker, Gate& gate,
                           std::byte* shared) {
  auto* const sums = reinterpret_cast<float*>(shared);
  const int slices = pooled_slices(p);
  const int image = worker.index / slices;
  const int octets = p.k / 8;
  gate.open();
  // Threads that share an octet of columns have some of the rows each.
  const int sharing = pooled_sharing(p);
  for (int i = static_cast<int>(threadIdx.x); i < octets * sharing; i += kThreads) {
    const int octet = i % octets;
    float sum[8] = {};
#pragma unroll 4
    for (int row = i / octets; row < p.rows; row += sharing) {
      float x[8];
      load_as<Store::f16>(p.in, at(p.in, image, row, octet * 8), x);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] += x[j];
    }
    float* const to = sums + i / octets * p.k + octet * 8;
#pragma unroll
    for (int j = 0; j < 8; ++j) to[j] = sum[j];
  }
  __syncthreads();
  const float each = 1.0F / static_cast<float>(p.rows);
  for (int k = static_cast<int>(threadIdx.x); k < p.k; k += kThreads) {
    float sum = sums[k];
    for (int part = 1; part < sharing; ++part) sum += sums[part * p.k + k];
    sums[k] = sum * each;
    if (worker.index % slices == 0) store1(p.mean, at(p.mean, image, 0, k), sums[k]);
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first = worker.index % slices * kPooledOutputs;
  for (int n = first + static_cast<int>(threadIdx.x) / 32; n < min(p.n, first + kPooledOutputs);
       n += kWarps) {
    const auto* const weight =
        static_cast<const __half*>(p.weight) + static_cast<std::int64_t>(n) * p.k_padded;
    float sum = 0;
    for (int octet = lane; octet < octets; octet += 32) {
      float x[8];
      load_as<Store::f16>(View{const_cast<__half*>(weight)}, octet * 8, x);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        sum = fmaf(__half2float(__float2half_rn(sums[octet * 8 + j])), x[j], sum);
      }
    }
    for (int apart = 16; apart > 0; apart /= 2) {
      sum += __shfl_xor_sync(0xffffffffU, sum, apart);
    }
    if (lane == 0) {
      store1(p.out, at(p.out, image, 0, n), sum + (p.bias == nullptr ? 0.0F : __ldg(p.bias + n)));
    }
  }
}

}  // namespace assay::backend::cuda
