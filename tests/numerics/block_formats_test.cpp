/// NVFP4 and MXFP4: scales and codes of blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "numerics/mxfp4.h"
#include "numerics/nvfp4.h"

namespace assay::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Nvfp4, TheTensorScaleMakesTheLargestBlockScale448) {
  EXPECT_EQ(Nvfp4::tensor_scale(2688), 1);
  EXPECT_EQ(Nvfp4::tensor_scale(0), 1);
  EXPECT_EQ(Nvfp4::tensor_scale(1e-40F), 1);  // the scale would not be normal
  for (const float amax : {0.013F, 1.0F, 3.7F, 1e4F}) {
    const float scale = Nvfp4::tensor_scale(amax);
    EXPECT_EQ(E4m3::decode(Nvfp4::block_scale(std::vector<float>{0.1F * amax, -amax}, scale)), 448);
  }
}

TEST(Nvfp4, BlockScalesRoundToTheNearestEvenE4M3) {
  const auto scale = [](float amax) {
    return E4m3::decode(Nvfp4::block_scale(std::vector<float>{amax}, 1));
  };
  EXPECT_EQ(scale(6), 1);
  EXPECT_EQ(scale(6 * 1.0625F), 1);      // between 1 and 1.125
  EXPECT_EQ(scale(6 * 1.1875F), 1.25F);  // between 1.125 and 1.25
  EXPECT_EQ(scale(0), 0);
  EXPECT_EQ(scale(6 * 0x1p-10F), 0);  // half of the smallest: a tie, to the even 0
  EXPECT_EQ(scale(1e9F), 448);
}

TEST(Nvfp4, CodesAreTheNearestOfEightMagnitudes) {
  const std::vector<float> block{0.25F, 0.26F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5, -5.1F, 7, -0.2F};
  std::vector<E2m1::Code> codes(block.size());
  Nvfp4::encode(block, E4m3::encode(1), 1, codes);
  std::vector<float> numbers;
  for (const E2m1::Code code : codes) numbers.push_back(Nvfp4::decode(code, E4m3::encode(1), 1));
  EXPECT_THAT(numbers, testing::ElementsAre(0, 0.5F, 1, 1, 2, 2, 4, 4, -6, 6, -0.0F));
  Nvfp4::encode(block, 0, 1, codes);
  EXPECT_EQ(codes, std::vector<E2m1::Code>(block.size(), 0));
}

TEST(E8m0, EachCodeIsAPowerOfTwo) {
  for (int code = 0; code < 255; ++code) {
    EXPECT_EQ(E8m0::decode(static_cast<E8m0::Code>(code)), std::ldexp(1.0, code - 127)) << code;
  }
  EXPECT_TRUE(std::isnan(E8m0::decode(255)));
}

TEST(Mxfp4, TheScaleIsTheLargestExponentLessTwo) {
  const auto scale = [](std::vector<float> block) {
    return E8m0::decode(Mxfp4::block_scale(block));
  };
  EXPECT_EQ(scale({0.5F, -6}), 1);
  EXPECT_EQ(scale({4}), 1);
  EXPECT_EQ(scale({7.99F}), 1);  // saturates, says the specification
  EXPECT_EQ(scale({8}), 2);
  EXPECT_EQ(scale({0.75F}), 0.125F);
  EXPECT_EQ(Mxfp4::block_scale(std::vector<float>{0, 0}), 0);
  EXPECT_EQ(Mxfp4::block_scale(std::vector<float>{1e-44F}), 0);
  EXPECT_EQ(Mxfp4::block_scale(std::vector<float>{std::numeric_limits<float>::max()}), 127 + 125);
  EXPECT_EQ(Mxfp4::block_scale(std::vector<float>{1, kInfinity}), E8m0::kNan);
  EXPECT_EQ(Mxfp4::block_scale(std::vector<float>{std::nanf("")}), E8m0::kNan);
}

TEST(Mxfp4, NumbersComeBackWithinHalfAStep) {
  const std::vector<float> block{0.75F, -0.7F, 0.05F, 0.3125F, 0};
  const E8m0::Code scale = Mxfp4::block_scale(block);
  std::vector<E2m1::Code> codes(block.size());
  Mxfp4::encode(block, scale, codes);
  std::vector<float> numbers;
  for (const E2m1::Code code : codes) numbers.push_back(Mxfp4::decode(code, scale));
  EXPECT_THAT(numbers, testing::ElementsAre(0.75F, -0.75F, 0.0625F, 0.25F, 0));
  Mxfp4::encode(block, E8m0::kNan, codes);
  EXPECT_EQ(codes, std::vector<E2m1::Code>(block.size(), 0));
  EXPECT_TRUE(std::isnan(Mxfp4::decode(0, E8m0::kNan)));
}

}  // namespace
}  // namespace assay::numerics
