#include <cmath>
#include <vector>

#include "backend/cpu/kernels/elementwise.h"
#include "backend/kernels_support.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;
using ElementwiseKernel = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, ElementwiseKernel, testing::ValuesIn(supported_isas()), isa_name);

const std::vector<std::int64_t> kCounts = {0, 1, 3, 15, 16, 17, 33, 64, 100, 1003};

TEST_P(ElementwiseKernel, ActivationsAgreeWithDouble) {
  for (const std::int64_t count : kCounts) {
    const std::vector<float> x = random_floats(count, 1, -4, 4);
    for (const Activation activation : {Activation::none, Activation::gelu, Activation::silu}) {
      Guarded y(count);
      activate(activation, x.data(), y.data(), count);
      EXPECT_TRUE(y.intact());
      for (std::int64_t i = 0; i < count; ++i) {
        const double v = x[static_cast<std::size_t>(i)];
        double right = v;
        if (activation == Activation::gelu) right = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
        if (activation == Activation::silu) right = v / (1 + std::exp(-v));
        // 5 ulp, or the bound of GELU's tail: see vector_math-inl.h.
        ASSERT_NEAR(y[i], right, 5 * kEpsilon * std::fabs(right) + 3e-8) << v;
      }
    }
  }
}

TEST_P(ElementwiseKernel, SumsAndProductsAreRoundedOnce) {
  for (const std::int64_t count : kCounts) {
    const std::vector<float> x = random_floats(count, 2);
    const std::vector<float> y = random_floats(count, 3);
    Guarded sum(count);
    add(x.data(), y.data(), sum.data(), count);
    Guarded product(y);  // In place over the second input.
    mul(x.data(), product.data(), product.data(), count);
    EXPECT_TRUE(sum.intact() && product.intact());
    for (std::int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      ASSERT_EQ(sum[i], x[k] + y[k]);
      ASSERT_EQ(product[i], x[k] * y[k]);
    }
  }
}

TEST_P(ElementwiseKernel, ASuffixIsRepeatedOverTheRows) {
  for (const std::int64_t width : {1, 2, 3, 16, 17, 63, 64, 65, 130}) {
    for (const std::int64_t rows : {1, 2, 16, 37}) {
      const std::vector<float> x = random_floats(rows * width, 4);
      const std::vector<float> suffix = random_floats(width, 5);
      Guarded sum(x);
      add_suffix(sum.data(), suffix.data(), sum.data(), rows, width);
      Guarded product(rows * width);
      mul_suffix(x.data(), suffix.data(), product.data(), rows, width);
      EXPECT_TRUE(sum.intact() && product.intact());
      for (std::int64_t i = 0; i < rows * width; ++i) {
        const auto k = static_cast<std::size_t>(i);
        const auto s = static_cast<std::size_t>(i % width);
        ASSERT_EQ(sum[i], x[k] + suffix[s]) << "width " << width << " rows " << rows;
        ASSERT_EQ(product[i], x[k] * suffix[s]) << "width " << width << " rows " << rows;
      }
    }
  }
}

TEST_P(ElementwiseKernel, ActivationsMayBeInPlace) {
  const std::vector<float> x = random_floats(77, 6, -3, 3);
  for (const Activation activation : {Activation::none, Activation::gelu, Activation::silu}) {
    Guarded apart(77);
    activate(activation, x.data(), apart.data(), 77);
    Guarded in_place(x);
    activate(activation, in_place.data(), in_place.data(), 77);
    for (std::int64_t i = 0; i < 77; ++i) EXPECT_EQ(apart[i], in_place[i]);
  }
}

}  // namespace
}  // namespace assay::backend::cpu
