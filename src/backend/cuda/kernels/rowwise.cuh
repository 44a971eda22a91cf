#pragma once
/// Steps of a row in, a row out, of two operands number by number, and means.
#include "backend/cuda/kernels/movement.cuh"
#include "backend/cuda/kernels/source.cuh"

namespace assay::backend::cuda {

__device__ inline void run(const Binary& b, const Call& call, Worker worker, Gate& gate,
                           std::byte* /*shared*/) {
  const std::int64_t numbers = static_cast<std::int64_t>(b.rows) * b.width;
  for_each(numbers * call.batch, worker, gate, [&](std::int64_t i) {
    const int image = static_cast<int>(i / numbers);
    const int row = static_cast<int>(i % numbers / b.width);
    const int column = static_cast<int>(i % b.width);
    const float x = load1(b.a, at(b.a, image, row, column));
    const float y = load1(b.b, at(b.b, image, row % b.b_rows, b.b_width == 1 ? 0 : column));
    store1(b.out, at(b.out, image, row, column), b.combine == Combine::add ? x + y : x * y);
  });
}

/// scale × round(x / scale), as graph::FakeQuantize says.
__device__ inline float fake_quantized(const Rowwise& r, float x) {
  switch (r.format) {
    case Store::f16:
      return __half2float(__float2half_rn(x));
    case Store::bf16:
      return __bfloat162float(__float2bfloat16_rn(x));
    case Store::e4m3:
      return r.scale * static_cast<float>(__nv_fp8_e4m3(x * (1.0F / r.scale)));
    default: {
      // As numerics::AffineU8: one rounding, of the sum; fmaxf makes NaN the code 0.
      const auto zero = static_cast<float>(r.zero_point);
      const float code = fminf(fmaxf(fmaf(x, 1.0F / r.scale, zero), 0.0F), 255.0F);
      return r.scale * (rintf(code) - zero);
    }
  }
}

/// A row by a warp.
class Row {
 public:
  __device__ Row(const Rowwise& r, std::int64_t row)
      : r_(r),
        in_(at(r.in, static_cast<int>(row / r.rows), static_cast<int>(row % r.rows), 0)),
        out_(at(r.out, static_cast<int>(row / r.rows), static_cast<int>(row % r.rows), 0)) {}

  __device__ void run() const {
    switch (r_.kind) {
      case RowKind::activate:
        return map([&](float x, int /*column*/) { return act(r_.act, x); });
      case RowKind::affine:
        return map([&](float x, int column) {
          return fmaf(x, r_.weight[column], r_.bias == nullptr ? 0.0F : r_.bias[column]);
        });
      case RowKind::fake_quantize:
        return map([&](float x, int /*column*/) { return fake_quantized(r_, x); });
      case RowKind::layer_norm:
        return layer_norm();
      case RowKind::softmax:
        return softmax();
    }
  }

 private:
  template <typename Body>
  __device__ void map(const Body& body) const {
    for (int i = static_cast<int>(threadIdx.x) % 32; i < r_.width; i += 32) {
      store1(r_.out, out_ + i, body(load1(r_.in, in_ + i), i));
    }
  }
  /// The warp's sum of body(number) over the row.
  template <typename Body>
  __device__ float sum_of(const Body& body) const {
    float sum = 0;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < r_.width; i += 32) {
      sum += body(load1(r_.in, in_ + i));
    }
    return warp_sum(sum);
  }

  __device__ void layer_norm() const {
    const float count = static_cast<float>(r_.width);
    const float mean = sum_of([](float x) { return x; }) / count;
    const float variance = sum_of([&](float x) { return (x - mean) * (x - mean); }) / count;
    const float inverse = rsqrtf(variance + r_.epsilon);
    map([&](float x, int column) {
      return (x - mean) * inverse * r_.weight[column] + r_.bias[column];
    });
  }

  __device__ void softmax() const {
    float largest = -INFINITY;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < r_.width; i += 32) {
      largest = fmaxf(largest, load1(r_.in, in_ + i));
    }
    for (int lane = 16; lane > 0; lane /= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffU, largest, lane));
    }
    const float sum = sum_of([&](float x) { return expf(x - largest); });
    map([&](float x, int /*column*/) { return expf(x - largest) / sum; });
  }

  const Rowwise& r_;
  std::int64_t in_;
  std::int64_t out_;
};

__device__ inline void run(const Rowwise& r, const Call& call, Worker worker, Gate& gate,
                           std::byte* /*shared*/) {
  const std::int64_t rows = static_cast<std::int64_t>(r.rows) * call.batch;
  std::int64_t row = static_cast<std::int64_t>(worker.index) * kWarps + threadIdx.x / 32;
  if (static_cast<std::int64_t>(worker.index) * kWarps >= rows) return;
  gate.open();
  for (; row < rows; row += static_cast<std::int64_t>(worker.count) * kWarps) Row(r, row).run();
}

/// One slice of columns: threads that share a column take every 32nd number of it.
__device__ inline void mean_tile(const Mean& m, std::int64_t tile, float* sums) {
  constexpr int kParts = kThreads / kMeanColumns;
  const int slice = static_cast<int>(tile % mean_slices(m));
  const int outer = static_cast<int>(tile / mean_slices(m) % m.outer);
  const int image = static_cast<int>(tile / mean_slices(m) / m.outer);
  const int column = slice * kMeanColumns + static_cast<int>(threadIdx.x) % kMeanColumns;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x) / kMeanColumns; i < m.count && column < m.inner;
       i += kParts) {
    sum += load1(m.in, at(m.in, image, outer * m.count + i, column));
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x < kMeanColumns && column < m.inner) {
    sum = 0;
    for (int part = 0; part < kParts; ++part) sum += sums[part * kMeanColumns + threadIdx.x];
    store1(m.out, at(m.out, image, outer, column), sum / static_cast<float>(m.count));
  }
  __syncthreads();
}

__device__ inline void run(const Mean& m, const Call& call, Worker worker, Gate& gate,
                           std::byte* shared) {
  const int count = tiles(m, call.batch);
  if (worker.index >= count) return;
  gate.open();
  for (int tile = worker.index; tile < count; tile += worker.count) {
    mean_tile(m, tile, reinterpret_cast<float*>(shared));
  }
}

}  // namespace assay::backend::cuda
