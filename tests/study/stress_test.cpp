#include "study/stress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace assay::study {
namespace {

const image::Transform kTransform{.input_height = 40, .input_width = 56};

TEST(Stress, AtLeastTwentyFourAllDifferent) {
  const auto names = stress_names();
  EXPECT_GE(names.size(), 24U);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  std::set<std::vector<float>> inputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const StressTensor tensor = stress_input(i, kTransform);
    EXPECT_EQ(tensor.name, names[i]);
    EXPECT_EQ(tensor.numbers.size(), 40U * 56 * 3);
    EXPECT_TRUE(std::ranges::all_of(tensor.numbers, [](float x) { return std::isfinite(x); }));
    inputs.insert(tensor.numbers);
  }
  EXPECT_EQ(inputs.size(), names.size()) << "two inputs are the same";
}

TEST(Stress, ReachesFarOutOfRange) {
  float largest = 0;
  for (std::size_t i = 0; i < stress_names().size(); ++i)
    for (const float x : stress_input(i, kTransform).numbers)
      largest = std::max(largest, std::abs(x));
  EXPECT_GE(largest, 1e4F);
  EXPECT_LE(largest, 1e5F);
}

TEST(Stress, IsTheSameEachTimeAndNormalizesPixels) {
  const auto names = stress_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(stress_input(i, kTransform).numbers, stress_input(i, kTransform).numbers);
  const auto white = static_cast<std::size_t>(std::ranges::find(names, "white") - names.begin());
  const StressTensor tensor = stress_input(white, kTransform);
  EXPECT_FLOAT_EQ(tensor.numbers[0], static_cast<float>((1 - 0.485) / 0.229));
  EXPECT_FLOAT_EQ(tensor.numbers[2], static_cast<float>((1 - 0.406) / 0.225));
}

}  // namespace
}  // namespace assay::study
