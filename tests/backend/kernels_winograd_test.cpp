#include <cstring>

#include "backend/cpu/kernels/winograd.h"
#include "backend/kernels_support.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;

using WinogradKernel = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, WinogradKernel, testing::ValuesIn(supported_isas()), isa_name);

struct Shape {
  std::int64_t height, width, channels, n;
};

/// Sizes that tiles do and do not divide, one tile and many, channels around whole vectors.
const std::vector<Shape> kShapes = {
    {8, 8, 16, 32}, {1, 1, 5, 3}, {7, 10, 19, 33}, {12, 3, 64, 49}, {33, 30, 7, 20}};

/// An image and a residual with gaps between pixels and lines, so that nothing lies by accident
/// where it is looked for.
class Problem {
 public:
  Problem(const Shape& shape, int outputs)
      : shape_(shape),
        x_(random_floats(shape.height * x_line(), 1)),
        weight_(random_floats(shape.n * shape.channels * 9, 2)),
        bias_(random_floats(shape.n, 3)),
        residual_(random_floats(shape.height * y_line(), 4)),
        weights_(pack_winograd(weight_, shape.n, shape.channels, outputs, pool_)) {
    args_.height = shape.height;
    args_.width = shape.width;
    args_.x = x_.data();
    args_.x_row = shape.channels + 2;
    args_.x_line = x_line();
    args_.bias = bias_.data();
    args_.y_row = shape.n + 1;
    args_.y_line = y_line();
    args_.residual = residual_.data();
    args_.residual_row = args_.y_row;
    args_.residual_line = args_.y_line;
  }

  /// What `workers` compute together; what they leave untouched is NaN.
  std::vector<float> run(Activation activation, int workers) {
    Guarded y(shape_.height * y_line());
    WinogradArgs args = args_;
    args.y = y.data();
    args.activation = activation;
    const std::int64_t tiles = winograd_tiles(weights_.outputs, shape_.height, shape_.width);
    AlignedBuffer scratch(static_cast<std::size_t>(winograd_scratch(weights_, tiles)));
    for (int worker = 0; worker < workers; ++worker) {
      std::fill_n(scratch.data(), scratch.size(), kNan);
      winograd(weights_, args, winograd_share(weights_, args, worker, workers), scratch.data());
    }
    EXPECT_TRUE(y.intact());
    std::int64_t written = 0;
    for (std::int64_t i = 0; i < y.size(); ++i) written += std::isnan(y[i]) ? 0 : 1;
    EXPECT_EQ(written, shape_.height * shape_.width * shape_.n);
    std::vector<float> pixels;
    for (std::int64_t i = 0; i < shape_.height * shape_.width; ++i) {
      for (std::int64_t n = 0; n < shape_.n; ++n) {
        pixels.push_back(y[i / shape_.width * y_line() + i % shape_.width * args.y_row + n]);
      }
    }
    return pixels;
  }

  /// The same number in double, straight from the definition.
  [[nodiscard]] double right(std::int64_t y, std::int64_t x, std::int64_t n,
                             Activation activation) const {
    double sum = bias_[static_cast<std::size_t>(n)];
    for (std::int64_t tap = 0; tap < 9; ++tap) {
      const std::int64_t from_y = y + tap / 3 - 1;
      const std::int64_t from_x = x + tap % 3 - 1;
      if (from_y < 0 || from_y >= shape_.height || from_x < 0 || from_x >= shape_.width) continue;
      const float* const pixel = x_.data() + from_y * x_line() + from_x * args_.x_row;
      const float* const kernel = weight_.data() + n * shape_.channels * 9 + tap;
      for (std::int64_t c = 0; c < shape_.channels; ++c) sum += double{pixel[c]} * kernel[c * 9];
    }
    if (activation == Activation::silu) sum = sum / (1 + std::exp(-sum));
    if (activation == Activation::gelu) sum = 0.5 * sum * std::erfc(-sum / std::sqrt(2.0));
    return sum + residual_[static_cast<std::size_t>(y * y_line() + x * args_.y_row + n)];
  }

 private:
  [[nodiscard]] std::int64_t x_line() const { return shape_.width * (shape_.channels + 2) + 5; }
  [[nodiscard]] std::int64_t y_line() const { return shape_.width * (shape_.n + 1) + 3; }

  Shape shape_;
  std::vector<float> x_, weight_, bias_, residual_;
  ConstantPool pool_;
  WinogradWeights weights_;
  WinogradArgs args_;
};

TEST_P(WinogradKernel, AgreesWithTheDirectSum) {
  for (const Shape& shape : kShapes) {
    for (const int outputs : {2, 4}) {
      Problem problem(shape, outputs);
      for (const Activation activation : {Activation::none, Activation::silu, Activation::gelu}) {
        const std::vector<float> got = problem.run(activation, 1);
        // Products of numbers below 1: their sum is of the size of the root of their count, and
        // the transforms magnify its rounding by less than 20.
        const double tolerance =
            20 * kEpsilon * std::sqrt(9.0 * static_cast<double>(shape.channels));
        for (std::size_t i = 0; i < got.size(); ++i) {
          const auto pixel = static_cast<std::int64_t>(i) / shape.n;
          ASSERT_NEAR(got[i],
                      problem.right(pixel / shape.width, pixel % shape.width,
                                    static_cast<std::int64_t>(i) % shape.n, activation),
                      tolerance)
              << outputs << ": " << shape.height << "x" << shape.width << " at " << i;
        }
      }
    }
  }
}

TEST_P(WinogradKernel, BitsDoNotDependOnTheNumberOfWorkers) {
  for (const Shape& shape : kShapes) {
    for (const int outputs : {2, 4}) {
      Problem problem(shape, outputs);
      const std::vector<float> alone = problem.run(Activation::silu, 1);
      for (const int workers : {2, 3, 7}) {
        const std::vector<float> together = problem.run(Activation::silu, workers);
        ASSERT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0)
            << workers;
      }
    }
  }
}

}  // namespace
}  // namespace assay::backend::cpu
