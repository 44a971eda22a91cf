#pragma once
/// Convolutions of groups of channels as steps of their own: depthwise, and any other grouping.
#include "backend/cuda/kernels/movement.cuh"
#include "backend/cuda/kernels/source.cuh"

namespace assay::backend::cuda {

/// The sum of one output channel at one output pixel.
__device__ inline float grouped_sum(const Grouped& g, int image, int row, int channel) {
  const Window& w = g.window;
  const int in_each = w.channels / g.groups;
  const int out_each = g.out_channels / g.groups;
  const int first = channel / out_each * in_each;
  const int taps = w.kernel_height * w.kernel_width;
  float sum = 0;
  for (int tap = 0; tap < taps; ++tap) {
    const int pixel = pixel_under(w, row, tap / w.kernel_width, tap % w.kernel_width);
    if (pixel < 0) continue;
    for (int i = 0; i < in_each; ++i) {
      const float weight = g.depthwise != 0
                               ? __ldg(g.weight + tap * g.out_channels + channel)
                               : __ldg(g.weight + (channel * in_each + i) * taps + tap);
      sum = fmaf(load1(g.in, at(g.in, image, pixel, first + i)), weight, sum);
    }
  }
  return sum;
}

/// Depthwise, eight channels of a pixel a thread: the kernel of every inverted residual.
__device__ inline void run_depthwise(const Grouped& g, const Call& call, Worker worker,
                                     Gate& gate) {
  const int octets = g.out_channels / kOctet;
  const std::int64_t pieces = static_cast<std::int64_t>(g.out_rows) * octets;
  Product p;  // what a product's source reads is what is wanted here
  p.a = g.in;
  p.k = g.out_channels;
  p.window = g.window;
  p.depthwise_weight = g.weight;
  p.depthwise_bias = g.bias;
  for_each(pieces * call.batch, worker, gate, [&](std::int64_t i) {
    const RowOf row{static_cast<int>(i / pieces), static_cast<int>(i % pieces) / octets};
    const int channel = static_cast<int>(i % pieces) % octets * kOctet;
    float x[kOctet];
    depthwise_octet<true>(p, row, channel, x);
    if (g.act != Act::none) activate(g.act, x);
    store8(g.out, at(g.out, row.image, row.row, channel), x);
  });
}

__device__ inline void run(const Grouped& g, const Call& call, Worker worker, Gate& gate,
                           std::byte* /*shared*/) {
  if (is_quick(g)) return run_depthwise(g, call, worker, gate);
  const std::int64_t numbers = static_cast<std::int64_t>(g.out_rows) * g.out_channels;
  for_each(numbers * call.batch, worker, gate, [&](std::int64_t i) {
    const int image = static_cast<int>(i / numbers);
    const int row = static_cast<int>(i % numbers / g.out_channels);
    const int channel = static_cast<int>(i % g.out_channels);
    float x = grouped_sum(g, image, row, channel);
    if (g.bias != nullptr) x += __ldg(g.bias + channel);
    x = act(g.act, x);
    if (g.has_residual != 0) x += load1(g.residual, at(g.residual, image, row, channel));
    store1(g.out, at(g.out, image, row, channel), x);
  });
}

}  // namespace assay::backend::cuda
