#pragma once
/// Moving numbers: strided copies, the call's pixels, and resizing.
#include "backend/cuda/kernels/convert.cuh"
#include "backend/cuda/kernels/gate.cuh"
#include "backend/cuda/kernels/step_shape.cuh"

namespace assay::backend::cuda {

/// Calls body(i) for this worker's share of `count` pieces of work, one a thread.
template <typename Body>
__device__ void for_each(std::int64_t count, Worker worker, Gate& gate, const Body& body) {
  if (static_cast<std::int64_t>(worker.index) * kThreads >= count) return;
  gate.open();
  const std::int64_t first = static_cast<std::int64_t>(worker.index) * kThreads + threadIdx.x;
  for (std::int64_t i = first; i < count; i += static_cast<std::int64_t>(worker.count) * kThreads) {
    body(i);
  }
}

__device__ inline void run(const Copy& c, const Call& call, Worker worker, Gate& gate,
                           std::byte* /*shared*/) {
  for_each(copy_numbers(c) * call.batch, worker, gate, [&](std::int64_t i) {
    std::int64_t from = 0;
    std::int64_t to = 0;
#pragma unroll
    for (int axis = 4; axis >= 0; --axis) {
      const std::int64_t index = i % c.dims[axis];
      i /= c.dims[axis];
      from += index * c.from_strides[axis];
      to += index * c.to_strides[axis];
    }
    store1(c.to, i * c.to.image_stride + to, load1(c.from, i * c.from.image_stride + from));
  });
}

__device__ inline float normalized(const Pixels& pixels, std::int64_t pixel, int channel) {
  const std::int64_t from = pixel * 3 + channel;
  if (pixels.rgb == nullptr) return pixels.tensor[from];
  return fmaf(static_cast<float>(pixels.rgb[from]), pixels.multiply[channel], pixels.add[channel]);
}

__device__ inline void run(const Normalize& n, const Call& call, Worker worker, Gate& gate,
                           std::byte* /*shared*/) {
  const bool octets = n.to.store == Store::f16 && n.to.row_stride == 8;
  for_each(static_cast<std::int64_t>(n.rows) * call.batch, worker, gate, [&](std::int64_t i) {
    const int image = static_cast<int>(i / n.rows);
    const int row = static_cast<int>(i % n.rows);
    float x[8] = {};
#pragma unroll
    for (int channel = 0; channel < 3; ++channel) x[channel] = normalized(call.pixels, i, channel);
    if (octets) {
      store_as<Store::f16>(n.to, at(n.to, image, row, 0), x);
      return;
    }
    for (int channel = 0; channel < n.to.row_stride; ++channel) {
      store1(n.to, at(n.to, image, row, channel), channel < 3 ? x[channel] : 0.0F);
    }
  });
}

__device__ inline void run(const Resize& r, const Call& call, Worker worker, Gate& gate,
                           std::byte* /*shared*/) {
  const std::int64_t numbers = resize_numbers(r);
  for_each(numbers * call.batch, worker, gate, [&](std::int64_t i) {
    const int image = static_cast<int>(i / numbers);
    const int channel = static_cast<int>(i % r.channels);
    const int pixel = static_cast<int>(i % numbers / r.channels);
    const int y = pixel / r.out_width;
    const int x = pixel % r.out_width;
    float sum = 0;
    for (int row = 0; row < r.taps; ++row) {
      const int line = r.rows[y * r.taps + row] * r.in_width;
      float along = 0;
      for (int column = 0; column < r.taps; ++column) {
        const int source = line + r.columns[x * r.taps + column];
        along = fmaf(r.column_weights[x * r.taps + column],
                     load1(r.in, at(r.in, image, source, channel)), along);
      }
      sum = fmaf(r.row_weights[y * r.taps + row], along, sum);
    }
    store1(r.out, at(r.out, image, pixel, channel), sum);
  });
}

}  // namespace assay::backend::cuda
