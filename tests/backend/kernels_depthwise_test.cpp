#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "backend/cpu/kernels/depthwise.h"
#include "backend/kernels_support.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;
using DepthwiseKernel = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, DepthwiseKernel, testing::ValuesIn(supported_isas()), isa_name);

struct Shape {
  std::int64_t images, height, width, channels;
  std::array<int, 2> kernel{3, 3};
  std::array<int, 2> stride{1, 1};
  std::array<int, 2> padding{1, 1};
  std::array<int, 2> dilation{1, 1};
};

const std::vector<Shape> kShapes = {
    {2, 9, 23, 35},
    {1, 5, 12, 16, {3, 3}, {2, 2}},
    {2, 11, 21, 19, {3, 3}, {2, 2}},
    {1, 8, 8, 64, {3, 3}, {1, 1}, {0, 0}},
    {1, 1, 1, 3},
    {1, 2, 2, 5, {3, 3}, {2, 2}, {0, 0}, {1, 1}},
    {1, 7, 30, 17, {3, 3}, {1, 2}, {2, 0}},
    {1, 9, 13, 20, {5, 5}, {2, 2}, {2, 2}},
    {1, 12, 11, 18, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
    {1, 10, 9, 33, {2, 3}, {3, 1}, {0, 1}, {1, 2}},
    {1, 3, 3, 8, {7, 7}, {1, 1}, {3, 3}},
    {1, 6, 17, 7, {1, 3}, {1, 1}, {0, 4}},
    {2, 4, 4, 130, {1, 1}, {1, 1}, {0, 0}},
};

std::int64_t output_size(std::int64_t in, int kernel, int stride, int padding, int dilation) {
  return (in + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

/// One convolution with its weights as a checkpoint stores them.
struct Problem {
  explicit Problem(const Shape& shape, Activation activation = Activation::none, bool bias = true,
                   bool residual = false)
      : images(shape.images) {
    args.in_height = shape.height;
    args.in_width = shape.width;
    args.channels = shape.channels;
    args.kernel = shape.kernel;
    args.stride = shape.stride;
    args.padding = shape.padding;
    args.dilation = shape.dilation;
    args.activation = activation;
    args.out_height = output_size(shape.height, shape.kernel[0], shape.stride[0], shape.padding[0],
                                  shape.dilation[0]);
    args.out_width = output_size(shape.width, shape.kernel[1], shape.stride[1], shape.padding[1],
                                 shape.dilation[1]);
    x = random_floats(images * shape.height * shape.width * shape.channels, 1);
    stored = random_floats(shape.channels * shape.kernel[0] * shape.kernel[1], 2);
    packed.resize(stored.size());
    pack_depthwise_weight(stored.data(), shape.channels, shape.kernel[0], shape.kernel[1],
                          packed.data());
    biases = random_floats(shape.channels, 3);
    residuals = random_floats(rows() * args.out_width * shape.channels, 4);
    args.x = x.data();
    args.weight = packed.data();
    args.bias = bias ? biases.data() : nullptr;
    args.residual = residual ? residuals.data() : nullptr;
  }

  [[nodiscard]] std::int64_t rows() const { return images * args.out_height; }

  Guarded run(std::int64_t rows_a_call) {
    Guarded y(rows() * args.out_width * args.channels);
    args.y = y.data();
    for (std::int64_t row = 0; row < rows(); row += rows_a_call) {
      depthwise_conv(args, row, std::min(rows(), row + rows_a_call));
    }
    EXPECT_TRUE(y.intact());
    return y;
  }

  std::int64_t images;
  std::vector<float> x, stored, packed, biases, residuals;
  DepthwiseArgs args;
};

double activated(Activation activation, double x) {
  if (activation == Activation::gelu) return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  return activation == Activation::silu ? x / (1 + std::exp(-x)) : x;
}

/// One output in double, and the sum of its absolute products.
struct Truth {
  double sum = 0;
  double size = 0;
};
Truth truth(const Problem& p, std::int64_t row, std::int64_t column, std::int64_t channel) {
  const DepthwiseArgs& a = p.args;
  Truth result;
  if (a.bias != nullptr) result = {a.bias[channel], std::fabs(a.bias[channel])};
  for (int i = 0; i < a.kernel[0]; ++i) {
    for (int j = 0; j < a.kernel[1]; ++j) {
      const std::int64_t y = row % a.out_height * a.stride[0] - a.padding[0] + i * a.dilation[0];
      const std::int64_t x = column * a.stride[1] - a.padding[1] + j * a.dilation[1];
      if (y < 0 || y >= a.in_height || x < 0 || x >= a.in_width) continue;
      const std::int64_t image = row / a.out_height;
      const auto place = ((image * a.in_height + y) * a.in_width + x) * a.channels + channel;
      const auto tap = (channel * a.kernel[0] + i) * a.kernel[1] + j;
      const double product = static_cast<double>(p.x[static_cast<std::size_t>(place)]) *
                             p.stored[static_cast<std::size_t>(tap)];
      result.sum += product;
      result.size += std::fabs(product);
    }
  }
  return result;
}

void check(const Problem& p, const Guarded& y) {
  const DepthwiseArgs& a = p.args;
  const int taps = a.kernel[0] * a.kernel[1];
  std::int64_t i = 0;
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    for (std::int64_t column = 0; column < a.out_width; ++column) {
      for (std::int64_t channel = 0; channel < a.channels; ++channel, ++i) {
        const Truth t = truth(p, row, column, channel);
        const double extra = a.residual != nullptr ? a.residual[i] : 0;
        const double right = activated(a.activation, t.sum) + extra;
        // Each product and each addition rounds once, the activation errs by a few roundings and
        // has a slope below 1.2, and the residual's addition rounds once more.
        const double tolerance =
            1.2 * (2 * taps + 12) * kEpsilon / 2 * t.size + kEpsilon * std::fabs(right) + 1e-30;
        ASSERT_NEAR(y[i], right, tolerance)
            << "row " << row << " column " << column << " channel " << channel;
      }
    }
  }
}

TEST_P(DepthwiseKernel, AgreesWithDouble) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(testing::Message() << "kernel " << shape.kernel[0] << "x" << shape.kernel[1]
                                    << " stride " << shape.stride[1] << " width " << shape.width);
    Problem problem(shape);
    check(problem, problem.run(problem.rows()));
  }
}

TEST_P(DepthwiseKernel, AppliesTheActivationThenTheResidual) {
  for (const Activation activation : {Activation::none, Activation::gelu, Activation::silu}) {
    Problem problem(kShapes[0], activation, false, true);
    check(problem, problem.run(5));
  }
}

TEST_P(DepthwiseKernel, IsTheSameHoweverTheRowsAreSplit) {
  for (const Shape& shape : kShapes) {
    Problem problem(shape, Activation::silu);
    Guarded whole = problem.run(problem.rows());
    Guarded parts = problem.run(1);
    EXPECT_EQ(std::memcmp(whole.data(), parts.data(),
                          static_cast<std::size_t>(whole.size()) * sizeof(float)),
              0);
  }
}

TEST_P(DepthwiseKernel, TheResidualMayBeTheOutput) {
  Problem problem(kShapes[0], Activation::silu, true, true);
  const Guarded apart = problem.run(problem.rows());
  Guarded y(problem.residuals);
  problem.args.y = y.data();
  problem.args.residual = y.data();
  depthwise_conv(problem.args, 0, problem.rows());
  for (std::int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], apart[i]);
}

TEST_P(DepthwiseKernel, PaddingNeverMeetsTheWeights) {
  // A tap outside the input is left out, so an infinite weight there makes no NaN.
  Problem problem({1, 1, 1, 4});
  for (std::size_t tap = 0; tap < 9; ++tap) {
    for (std::size_t c = 0; c < 4; ++c) {
      if (tap != 4) problem.packed[tap * 4 + c] = kInfinity;
    }
  }
  const Guarded y = problem.run(1);
  for (std::int64_t c = 0; c < 4; ++c) EXPECT_TRUE(std::isfinite(y[c]));
}

}  // namespace
}  // namespace assay::backend::cpu
