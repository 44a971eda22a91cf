/// Times the matrix product of the cpu backend on one core, on the instruction set that
/// ASSAY_CPU_ISA names or the best: linear layers, and convolutions as the implicit products that
/// they are. Each case first compares rows of its result with sums in double and fails where they
/// differ; activations and weights are several copies that together exceed the second-level cache,
/// used in turn. The counters are GFLOP/s and their share of the measured peak.
#include <cmath>

#include "backend/cpu/kernels/gemm.h"
#include "kernel_bench.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;

/// A convolution over an image that has its margin already, or a linear layer: kernel 1, height 1.
struct Shape {
  std::string name;
  std::int64_t height = 1, width = 1, channels = 1, kernel = 1, stride = 1, n = 1;
  Activation activation = Activation::none;

  [[nodiscard]] std::int64_t k() const { return kernel * kernel * channels; }
  [[nodiscard]] std::int64_t line() const { return ((width - 1) * stride + kernel) * channels; }
  [[nodiscard]] std::int64_t inputs() const { return ((height - 1) * stride + kernel) * line(); }
  [[nodiscard]] std::int64_t outputs() const { return height * width * n; }
  [[nodiscard]] double flops() const { return 2.0 * static_cast<double>(outputs() * k()); }
};

/// One copy of everything that a call touches.
struct Copy {
  Copy(const Shape& shape, unsigned seed)
      : x(bench::random_buffer(shape.inputs(), seed + 2, 1)),
        y(static_cast<std::size_t>(shape.outputs())),
        weight(bench::random_buffer(shape.n * shape.k(), seed, 1)),
        bias(bench::random_buffer(shape.n, seed + 1, 1)),
        matrix(pack_matrix({weight.data(), weight.size()}, {bias.data(), bias.size()}, shape.n,
                           shape.k(), pool)) {}
  AlignedBuffer x, y, weight, bias;
  ConstantPool pool;
  PackedMatrix matrix;
};

GemmArgs args_of(const Shape& shape, Copy& copy, std::span<const std::int64_t> segments) {
  GemmArgs args;
  const bool flat = shape.kernel == 1 && shape.stride == 1;
  args.lines = flat ? 1 : shape.height;
  args.rows = flat ? shape.height * shape.width : shape.width;
  args.a = copy.x.data();
  args.a_row = shape.stride * shape.channels;
  args.a_line = shape.stride * shape.line();
  args.segment_offsets = segments;
  args.segment_length = shape.kernel * shape.channels;
  args.c = copy.y.data();
  args.c_row = shape.n;
  args.c_line = shape.width * shape.n;
  args.activation = shape.activation;
  return args;
}

double expected(const Shape& shape, const Copy& copy, std::int64_t pixel, std::int64_t column) {
  const std::int64_t y = pixel / shape.width * shape.stride;
  const std::int64_t x = pixel % shape.width * shape.stride;
  double sum = copy.bias.data()[column];
  const float* w = copy.weight.data() + column * shape.k();
  for (std::int64_t ky = 0; ky < shape.kernel; ++ky) {
    for (std::int64_t i = 0; i < shape.kernel * shape.channels; ++i, ++w) {
      sum += double{copy.x.data()[(y + ky) * shape.line() + x * shape.channels + i]} * *w;
    }
  }
  if (shape.activation == Activation::gelu) return sum * 0.5 * (1 + std::erf(sum / std::sqrt(2.0)));
  if (shape.activation == Activation::silu) return sum / (1 + std::exp(-sum));
  return sum;
}

bool verified(const Shape& shape, const Copy& copy) {
  const std::int64_t pixels = shape.height * shape.width;
  for (const std::int64_t pixel : {std::int64_t{0}, pixels / 2, pixels - 1}) {
    for (std::int64_t column = 0; column < shape.n; ++column) {
      const double want = expected(shape, copy, pixel, column);
      // Sums of K products of numbers below 1 in fp32: K epsilon is never reached by random ones.
      const double tolerance = 1.2e-7 * static_cast<double>(shape.k() + 4);
      if (!(std::abs(copy.y.data()[pixel * shape.n + column] - want) <= tolerance)) return false;
    }
  }
  return true;
}

void time_shape(benchmark::State& state, const Shape& shape, double peak) {
  const std::int64_t count =
      bench::copies_beyond_cache(shape.inputs() + shape.outputs() + shape.n * shape.k(), 32);
  std::vector<Copy> copies;
  for (std::int64_t i = 0; i < count; ++i) copies.emplace_back(shape, static_cast<unsigned>(3 * i));
  std::vector<std::int64_t> segments;
  for (std::int64_t ky = 0; ky < shape.kernel; ++ky) segments.push_back(ky * shape.line());
  const auto call = [&](Copy& copy) {
    const GemmArgs args = args_of(shape, copy, segments);
    gemm(copy.matrix, args, gemm_share(copy.matrix, args, 0, 1));
  };
  call(copies[0]);
  if (!verified(shape, copies[0])) {
    state.SkipWithError("the result differs from sums in double");
    return;
  }
  bench::time_in_turn(state, copies.size(), [&](std::size_t turn) { call(copies[turn]); });
  bench::count_flops(state, shape.flops(), peak);
}

Shape linear(std::int64_t rows, std::int64_t k, std::int64_t n,
             Activation activation = Activation::none) {
  const std::string act = activation == Activation::gelu   ? "/gelu"
                          : activation == Activation::silu ? "/silu"
                                                           : "";
  return {
      "linear/" + std::to_string(rows) + "x" + std::to_string(k) + "x" + std::to_string(n) + act,
      1,
      rows,
      k,
      1,
      1,
      n,
      activation};
}

Shape conv(std::int64_t out, std::int64_t in_channels, std::int64_t kernel, std::int64_t stride,
           std::int64_t n, Activation activation = Activation::none) {
  return {"conv/" + std::to_string(out) + "x" + std::to_string(in_channels) + "x" +
              std::to_string(n) + "/k" + std::to_string(kernel) + "s" + std::to_string(stride) +
              (activation == Activation::silu ? "/silu" : ""),
          out,
          out,
          in_channels,
          kernel,
          stride,
          n,
          activation};
}

/// The products that CrossViT-9 and MobileViT-S spend their time in.
std::vector<Shape> all_shapes() {
  return {linear(197, 256, 768),
          linear(197, 256, 768, Activation::gelu),
          linear(197, 768, 256),
          linear(197, 256, 256),
          linear(401, 128, 384),
          linear(401, 384, 128),
          linear(1, 256, 256),
          linear(1024, 144, 432),
          linear(1024, 144, 288, Activation::silu),
          linear(256, 192, 576),
          linear(64, 240, 720),
          conv(20, 3, 12, 12, 128),
          conv(14, 3, 16, 16, 256),
          conv(128, 3, 3, 2, 16, Activation::silu),
          conv(64, 64, 1, 1, 256, Activation::silu),
          conv(32, 96, 3, 1, 96, Activation::silu),
          conv(32, 192, 3, 1, 96, Activation::silu),
          conv(8, 320, 3, 1, 160, Activation::silu)};
}

}  // namespace
}  // namespace assay::backend::cpu

int main(int argc, char** argv) {
  using namespace assay::backend::cpu;
  std::vector<assay::bench::TimedCase> cases;
  for (const Shape& shape : all_shapes()) {
    cases.push_back({shape.name, [shape](benchmark::State& state, double peak) {
                       time_shape(state, shape, peak);
                     }});
  }
  return assay::bench::run_cases(argc, argv, cases);
}
