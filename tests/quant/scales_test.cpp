/// Scales from ranges.
#include "quant/scales.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay::quant {
namespace {

TEST(AffineFor, SpansTheRangeAndZero) {
  const auto expect = [](Range range, double scale, int zero_point) {
    const numerics::AffineU8 affine = affine_for(range);
    EXPECT_FLOAT_EQ(affine.scale, static_cast<float>(scale));
    EXPECT_EQ(affine.zero_point, zero_point);
    EXPECT_EQ(affine.decode(affine.encode(0)), 0.0F);
  };
  expect({-1, 1}, 2.0 / 255, 127);  // the scale is a little above, so 127.5 is not reached
  expect({0, 255}, 1, 0);
  expect({-255, 0}, 1, 255);
  expect({2, 5.1F}, 5.1 / 255, 0);      // widened down to 0
  expect({-5.1F, -2}, 5.1 / 255, 255);  // and up
  expect({3, 3}, 3.0 / 255, 0);
  expect({-3, -3}, 3.0 / 255, 255);
  expect({0, 0}, 1, 0);
  expect({0, 1e-44F}, 1, 0);  // its inverse would not be a number
  constexpr float kMost = std::numeric_limits<float>::max();
  expect({-kMost, kMost}, 2.0 * kMost / 255, 128);
}

TEST(E4m3ScaleFor, TakesTheLargestMagnitudeTo448) {
  EXPECT_EQ(e4m3_scale_for({-448, 1}), 1.0F);
  EXPECT_EQ(e4m3_scale_for({-1, 896}), 2.0F);
  EXPECT_EQ(e4m3_scale_for({3, 7}), 7.0F / 448);
  EXPECT_EQ(e4m3_scale_for({0, 0}), 1.0F);
  EXPECT_EQ(e4m3_scale_for({-1e-44F, 0}), 1.0F);  // its inverse would not be a number
}

}  // namespace
}  // namespace assay::quant
