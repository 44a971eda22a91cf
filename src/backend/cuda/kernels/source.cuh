#pragma once
/// The rows of a product's first operand, computed eight numbers at a time: as they lie, layer
/// normalized, gathered under a convolution's kernel, or convolved channel by channel.
///
/// A block runs this code once or a few times, so that fetching instructions costs as much as
/// running them: it is kept small. What few products need is in functions that are not inlined.
#include "backend/cuda/kernels/convert.cuh"
#include "backend/cuda/kernels/gate.cuh"
#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

inline constexpr int kOctet = 8;  ///< numbers computed at once

/// A row of all images together: which one, and which of its rows.
struct RowOf {
  int image = 0;
  int row = 0;
};
__device__ inline RowOf row_of(const Product& p, int row) { return {row / p.rows, row % p.rows}; }

/// The view that a row of a row-wise source lies in, and its offset there.
struct Line {
  const View* view = nullptr;
  std::int64_t offset = 0;
};
__device__ inline Line line_of(const Product& p, RowOf at) {
  const bool first = p.has_first != 0 && at.row == 0;
  const View& view = first ? p.first : p.a;
  const int row = p.has_first != 0 && !first ? at.row - 1 : at.row;
  return {&view, at.image * view.image_stride + static_cast<std::int64_t>(row) * view.row_stride};
}

/// Numbers [begin, begin + 8) of a row of `count`, zeros behind its end, whatever they lie as.
static __device__ __noinline__ void load_any(const View& view, std::int64_t offset, int begin,
                                             int count, float* x);

/// The same; where `kFast`, rows lie as f16 and all octets are whole and aligned to 16 bytes.
template <bool kFast>
__device__ inline void load_octet(const View& view, std::int64_t offset, int begin, int count,
                                  float (&x)[kOctet]) {
  if constexpr (kFast) {
    for (float& number : x) number = 0;
    if (begin < count) load_as<Store::f16>(view, offset + begin, x);
  } else {
    float any[kOctet];
    load_any(view, offset, begin, count, any);
    for (int i = 0; i < kOctet; ++i) x[i] = any[i];
  }
}

static __device__ __noinline__ void load_constants_any(const float* from, int begin, int count,
                                                       float* x) {
#pragma unroll 1
  for (int i = 0; i < kOctet; ++i) x[i] = begin + i < count ? __ldg(from + begin + i) : 0.0F;
}

/// Eight fp32 constants, or zeros behind `count`.
__device__ inline void load_constants(const float* from, int begin, int count, float (&x)[kOctet]) {
  if (begin + kOctet <= count && count % 4 == 0) {
    const float4 low = __ldg(reinterpret_cast<const float4*>(from + begin));
    const float4 high = __ldg(reinterpret_cast<const float4*>(from + begin) + 1);
    x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
    x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
    return;
  }
  float any[kOctet];
  load_constants_any(from, begin, count, any);
  for (int i = 0; i < kOctet; ++i) x[i] = any[i];
}

/// One row's mean and the inverse of its standard deviation.
struct Moments {
  float mean = 0;
  float inverse = 0;
};

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffffU, x, lane);
  return x;
}

/// By a whole warp: the mean first, then the mean squared difference from it (arXiv 1607.06450).
static __device__ __noinline__ Moments moments_of(const Product& p, const Line& line);

/// Rows whose numbers [8 × lane, 8 × lane + 8) each lane holds.
template <int kRows>
__device__ inline void moments_of_rows(const float (&x)[kRows][kOctet], int count, float epsilon,
                                       Moments (&moments)[kRows]) {
  const bool there = static_cast<int>(threadIdx.x) % 32 * kOctet < count;
  const float each = 1.0F / static_cast<float>(count);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float sum = 0;
    for (float number : x[r]) sum += number;
    moments[r].mean = sum;
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) moments[r].mean = warp_sum(moments[r].mean) * each;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float squares = 0;
    for (float number : x[r]) squares += (number - moments[r].mean) * (number - moments[r].mean);
    moments[r].inverse = there ? squares : 0.0F;
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    moments[r].inverse = rsqrtf(warp_sum(moments[r].inverse) * each + epsilon);
  }
}

/// What a layer norm multiplies and adds, of eight columns.
struct NormConstants {
  float weight[kOctet];
  float bias[kOctet];
};
__device__ inline NormConstants norm_constants(const Product& p, int begin) {
  NormConstants constants;
  load_constants(p.norm_weight, begin, p.k, constants.weight);
  load_constants(p.norm_bias, begin, p.k, constants.bias);
  return constants;
}

/// Few layer norms have an activation behind them.
static __device__ __noinline__ void activate_any(Act kind, float* x) {
#pragma unroll 1
  for (int i = 0; i < kOctet; ++i) x[i] = act(kind, x[i]);
}

/// Behind a row's end weight and bias are 0, and so is the result: both activations keep 0.
__device__ inline void normalize_octet(const Product& p, const Moments& moments,
                                       const NormConstants& constants, float (&x)[kOctet]) {
  for (int i = 0; i < kOctet; ++i) {
    x[i] = (x[i] - moments.mean) * moments.inverse * constants.weight[i] + constants.bias[i];
  }
  if (p.source_act != Act::none) {
    float apart[kOctet];  // so that `x` stays in registers
    for (int i = 0; i < kOctet; ++i) apart[i] = x[i];
    activate_any(p.source_act, apart);
    for (int i = 0; i < kOctet; ++i) x[i] = apart[i];
  }
}

/// Where the kernel's tap (ky, kx) falls, of an output pixel whose kernel begins at (y, x); -1
/// where that is outside the image.
__device__ inline int pixel_at(const Window& w, int y, int x) {
  return y >= 0 && y < w.in_height && x >= 0 && x < w.in_width ? y * w.in_width + x : -1;
}
__device__ inline int pixel_under(const Window& w, int row, int ky, int kx) {
  return pixel_at(w, row / w.out_width * w.stride_y - w.pad_y + ky * w.dilation_y,
                  row % w.out_width * w.stride_x - w.pad_x + kx * w.dilation_x);
}

/// Numbers [begin, begin + 8) of the patch under the kernel, in the order (ky, kx, channel).
static __device__ __noinline__ void gather_any(const Product& p, RowOf at, int begin, float* x);

/// Channels [begin, begin + 8) of the depthwise convolution at an output pixel.
template <bool kFast>
__device__ inline void depthwise_octet(const Product& p, RowOf at, int begin, float (&x)[kOctet]) {
  const Window& w = p.window;
  const std::int64_t image = at.image * p.a.image_stride;
  const int top = at.row / w.out_width * w.stride_y - w.pad_y;
  const int left = at.row % w.out_width * w.stride_x - w.pad_x;
  for (float& number : x) number = 0;
  if (p.depthwise_bias != nullptr) load_constants(p.depthwise_bias, begin, p.k, x);
  for (int ky = 0; ky < w.kernel_height; ++ky) {
#pragma unroll 3
    for (int kx = 0; kx < w.kernel_width; ++kx) {
      // A pixel outside is read as the first one, so that no load waits for a branch.
      const int pixel = pixel_at(w, top + ky * w.dilation_y, left + kx * w.dilation_x);
      float number[kOctet];
      float weight[kOctet];
      load_octet<kFast>(p.a, image + static_cast<std::int64_t>(max(pixel, 0)) * p.a.row_stride,
                        begin, p.k, number);
      load_constants(p.depthwise_weight + (ky * w.kernel_width + kx) * p.k, begin, p.k, weight);
      for (int i = 0; i < kOctet; ++i) x[i] = fmaf(pixel < 0 ? 0.0F : number[i], weight[i], x[i]);
    }
  }
  if (begin >= p.k) {
    for (float& number : x) number = 0;
  }
  if (p.source_act != Act::none) activate(p.source_act, x);
}

/// Numbers [begin, begin + 8) of row `at`; `moments` are that row's, where it is normalized.
template <Source kSource, bool kFast>
__device__ inline void source_octet(const Product& p, RowOf at, int begin, const Moments& moments,
                                    float (&x)[kOctet]) {
  if constexpr (kSource == Source::depthwise) {
    depthwise_octet<kFast>(p, at, begin, x);
  } else if constexpr (kSource == Source::convolution) {
    float patch[kOctet];
    gather_any(p, at, begin, patch);
    for (int i = 0; i < kOctet; ++i) x[i] = patch[i];
  } else {
    const Line line = line_of(p, at);
    load_octet<kFast>(*line.view, line.offset, begin, p.k, x);
    if constexpr (kSource == Source::layer_norm) {
      normalize_octet(p, moments, norm_constants(p, begin), x);
    }
  }
}

// ---- what is not inlined
// -------------------------------------------------------------------------

static __device__ __noinline__ void load_any(const View& view, std::int64_t offset, int begin,
                                             int count, float* x) {
#pragma unroll 1
  for (int i = 0; i < kOctet; ++i) {
    x[i] = begin + i < count ? load1(view, offset + begin + i) : 0.0F;
  }
}

static __device__ __noinline__ Moments moments_of(const Product& p, const Line& line) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float sum = 0;
#pragma unroll 1
  for (int k = lane; k < p.k; k += 32) sum += load1(*line.view, line.offset + k);
  const float mean = warp_sum(sum) / static_cast<float>(p.k);
  float squares = 0;
#pragma unroll 1
  for (int k = lane; k < p.k; k += 32) {
    const float difference = load1(*line.view, line.offset + k) - mean;
    squares += difference * difference;
  }
  return {mean, rsqrtf(warp_sum(squares) / static_cast<float>(p.k) + p.epsilon)};
}

static __device__ __noinline__ void gather_any(const Product& p, RowOf at, int begin, float* x) {
  const Window& w = p.window;
#pragma unroll 1
  for (int i = 0; i < kOctet; ++i) {
    const int k = begin + i;
    const int tap = k / w.channels;
    const int pixel =
        k < p.k ? pixel_under(w, at.row, tap / w.kernel_width, tap % w.kernel_width) : -1;
    x[i] = pixel < 0
               ? 0.0F
               : load1(p.a, at.image * p.a.image_stride +
                                static_cast<std::int64_t>(pixel) * p.a.row_stride + k % w.channels);
  }
}

}  // namespace assay::backend::cuda
