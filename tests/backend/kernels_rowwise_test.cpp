// Kernels that work row by row: layer norm, softmax, mean, batch norm.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/kernels/layer_norm.h"
#include "backend/cpu/kernels/mean.h"
#include "backend/cpu/kernels/softmax.h"
#include "backend/kernels_support.h"

namespace assay::backend::cpu {
namespace {

using RowKernel = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, RowKernel, testing::ValuesIn(supported_isas()), isa_name);

const std::vector<std::int64_t> kWidths = {1, 2, 3, 7, 15, 16, 17, 31, 63, 64, 65, 144, 401, 1000};

/// Mean and biased variance of a row in double.
struct Moments {
  double mean = 0;
  double variance = 0;
};
Moments moments(const float* x, std::int64_t count) {
  Moments m;
  for (std::int64_t i = 0; i < count; ++i) m.mean += x[i];
  m.mean /= static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) m.variance += (x[i] - m.mean) * (x[i] - m.mean);
  m.variance /= static_cast<double>(count);
  return m;
}

void check_layer_norm(std::int64_t width, float epsilon, float offset) {
  constexpr std::int64_t kRows = 3;
  const std::vector<float> x = random_floats(kRows * width, 1, offset - 1, offset + 1);
  const std::vector<float> gamma = random_floats(width, 2);
  const std::vector<float> beta = random_floats(width, 3);
  Guarded y(kRows * width);
  layer_norm(x.data(), y.data(), kRows, width, gamma.data(), beta.data(), epsilon);
  EXPECT_TRUE(y.intact());
  for (std::int64_t r = 0; r < kRows; ++r) {
    const Moments m = moments(x.data() + r * width, width);
    const double deviation = std::sqrt(m.variance + static_cast<double>(epsilon));
    // The mean errs by at most `width` roundings of its size; that shifts the numerator, and the
    // variance hardly at all. The other operations add a few relative roundings.
    const double center_error =
        static_cast<double>(width + 2) * kEpsilon / 2 * (std::fabs(offset) + 1);
    for (std::int64_t c = 0; c < width; ++c) {
      const auto i = static_cast<std::size_t>(r * width + c);
      const auto k = static_cast<std::size_t>(c);
      const double normal = (x[i] - m.mean) / deviation;
      const double right = normal * gamma[k] + beta[k];
      const double relative = static_cast<double>(width + 10) * kEpsilon / 2;
      const double tolerance =
          std::fabs(gamma[k]) * (2 * center_error / deviation + relative * std::fabs(normal)) +
          kEpsilon * (std::fabs(right) + std::fabs(beta[k]));
      ASSERT_NEAR(y[static_cast<std::int64_t>(i)], right, tolerance) << "width " << width;
    }
  }
}

TEST_P(RowKernel, LayerNormAgreesWithDouble) {
  for (const std::int64_t width : kWidths) {
    check_layer_norm(width, 1e-5F, 0);
    check_layer_norm(width, 1e-6F, 0);
    check_layer_norm(width, 1e-5F, 50);
  }
}

TEST_P(RowKernel, LayerNormUsesItsEpsilon) {
  const std::vector<float> x = {1e-3F, -1e-3F};
  const std::vector<float> ones = {1, 1};
  const std::vector<float> zeros = {0, 0};
  Guarded y(2);
  layer_norm(x.data(), y.data(), 1, 2, ones.data(), zeros.data(), 1e-6F);
  EXPECT_NEAR(y[0], 1e-3 / std::sqrt(2e-6), 1e-6);
}

TEST_P(RowKernel, LayerNormMayBeInPlaceAndKeepsNanInItsRow) {
  const std::int64_t width = 37;
  std::vector<float> x = random_floats(3 * width, 4);
  x[static_cast<std::size_t>(width)] = kNan;
  const std::vector<float> gamma = random_floats(width, 2);
  Guarded apart(3 * width);
  layer_norm(x.data(), apart.data(), 3, width, gamma.data(), gamma.data(), 1e-5F);
  Guarded in_place(x);
  layer_norm(in_place.data(), in_place.data(), 3, width, gamma.data(), gamma.data(), 1e-5F);
  for (std::int64_t i = 0; i < 3 * width; ++i) {
    const bool second = i / width == 1;
    EXPECT_EQ(std::isnan(apart[i]), second);
    if (!second) {
      EXPECT_EQ(apart[i], in_place[i]);
    }
  }
}

TEST_P(RowKernel, SoftmaxAgreesWithDouble) {
  for (const std::int64_t width : kWidths) {
    constexpr std::int64_t kRows = 3;
    const std::vector<float> x = random_floats(kRows * width, 5, -20, 90);
    Guarded y(kRows * width);
    softmax(x.data(), y.data(), kRows, width);
    EXPECT_TRUE(y.intact());
    for (std::int64_t r = 0; r < kRows; ++r) {
      const float* const row = x.data() + r * width;
      const double top = *std::max_element(row, row + width);
      double sum = 0;
      for (std::int64_t i = 0; i < width; ++i) sum += std::exp(row[i] - top);
      for (std::int64_t i = 0; i < width; ++i) {
        // x - max rounds once, which exp turns into a relative error of that size; exp errs by 2
        // ulp, the sum by at most a rounding a term, and two operations follow.
        const double right = std::exp(row[i] - top) / sum;
        const double relative = 2 * (top - row[i]) + 8 + static_cast<double>(width) + 110;
        ASSERT_NEAR(y[r * width + i], right, relative * kEpsilon / 2 * right + 1e-37);
      }
    }
  }
}

TEST_P(RowKernel, SoftmaxTreatsTheExtremesAsItsFormula) {
  std::vector<float> x = {-kInfinity, 0, 0, kInfinity, 0, 0, kNan, 0, 0};
  softmax(x.data(), x.data(), 3, 3);
  EXPECT_EQ(x[0], 0.0F);
  EXPECT_EQ(x[1], 0.5F);
  for (std::size_t i = 3; i < 9; ++i) {
    EXPECT_TRUE(std::isnan(x[i]) || (i < 6 && i != 3 && x[i] == 0.0F)) << i;
  }
}

TEST_P(RowKernel, MeanAgreesWithDouble) {
  for (const std::int64_t channels : kWidths) {
    for (const std::int64_t rows : {1, 64, 131}) {
      const std::int64_t stride = channels + 5;
      const std::vector<float> x = random_floats(rows * stride, 6, -1, 3);
      Guarded y(channels);
      mean(x.data(), stride, y.data(), rows, channels);
      EXPECT_TRUE(y.intact());
      for (std::int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (std::int64_t r = 0; r < rows; ++r) sum += x[static_cast<std::size_t>(r * stride + c)];
        // Each number, at most 3, passes through at most 64 + 3 additions and a division.
        ASSERT_NEAR(y[c], sum / static_cast<double>(rows), 3 * 68 * kEpsilon / 2);
      }
    }
  }
}

TEST_P(RowKernel, BatchNormAgreesWithDouble) {
  for (const std::int64_t channels : kWidths) {
    constexpr std::int64_t kRows = 4;
    const std::vector<float> x = random_floats(kRows * channels, 7);
    const std::vector<float> scale = random_floats(channels, 8);
    const std::vector<float> shift = random_floats(channels, 9);
    Guarded y(x);
    batch_norm(y.data(), y.data(), kRows, channels, scale.data(), shift.data());
    EXPECT_TRUE(y.intact());
    for (std::int64_t i = 0; i < kRows * channels; ++i) {
      const auto c = static_cast<std::size_t>(i % channels);
      const double product = static_cast<double>(x[static_cast<std::size_t>(i)]) * scale[c];
      // A product and a sum below 2, each rounded at most once.
      ASSERT_NEAR(y[i], product + shift[c], 1.5 * kEpsilon);
    }
  }
}

}  // namespace
}  // namespace assay::backend::cpu
