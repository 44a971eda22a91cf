/// What counts as finite when a study looks for numbers that are not.
#include "study/scan.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace assay::study {
namespace {

TEST(MagnitudeOf, IsTheLargestOfEitherSign) {
  EXPECT_EQ(magnitude_of({}), 0.0);
  EXPECT_EQ(magnitude_of(std::array{1.0F, -3.5F, 2.0F}), 3.5);
}

TEST(MagnitudeOf, WhatIsNotFiniteIsInfiniteWhereverItStands) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {kInfinity, -kInfinity, kNan}) {
    EXPECT_TRUE(std::isinf(magnitude_of(std::array{bad, 1.0F, 2.0F})));
    EXPECT_TRUE(std::isinf(magnitude_of(std::array{1.0F, 2.0F, bad})));
  }
}

}  // namespace
}  // namespace assay::study
