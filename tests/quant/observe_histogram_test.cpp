/// Histograms whose bins double: each number is counted in the bin that holds it, however it came
/// there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "quant/histogram.h"

namespace assay::quant {
namespace {

constexpr int kSide = Histogram::kSide;

void add(Histogram& histogram, const std::vector<float>& numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  histogram.add(numbers, largest);
}

/// The bins that are not empty, counted from 0.
std::map<int, std::uint64_t> filled(const Histogram& histogram) {
  std::map<int, std::uint64_t> bins;
  for (int bin = 0; bin < 2 * kSide; ++bin) {
    const std::uint64_t count = histogram.bins()[static_cast<std::size_t>(bin)];
    if (count > 0) bins[bin - kSide] = count;
  }
  return bins;
}

bool same(const Histogram& a, const Histogram& b) {
  return a.width() == b.width() && std::ranges::equal(a.bins(), b.bins());
}

/// Numbers of magnitudes from 2^-20 to 2^6.
std::vector<float> numbers_of_all_sizes(std::size_t count) {
  std::mt19937 random(7);
  std::vector<float> numbers;
  while (numbers.size() < count) {
    const auto mantissa = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000;
    numbers.push_back(std::ldexp(mantissa, static_cast<int>(random() % 27) - 20));
  }
  return numbers;
}

TEST(Histogram, MergesPairsOfBinsAsItWidens) {
  Histogram histogram;
  add(histogram, {0.5F, -0.5F, 0.75F, 0, -1e-9F});
  EXPECT_EQ(histogram.width(), 1.0 / kSide);
  EXPECT_THAT(filled(histogram),
              testing::ElementsAre(std::pair(-2048, 1), std::pair(-1, 1), std::pair(0, 1),
                                   std::pair(2048, 1), std::pair(3072, 1)));
  add(histogram, {3, 0.501F});
  EXPECT_EQ(histogram.width(), 4.0 / kSide);
  EXPECT_THAT(
      filled(histogram),
      testing::ElementsAre(std::pair(-512, 1), std::pair(-1, 1), std::pair(0, 1), std::pair(512, 1),
                           std::pair(513, 1), std::pair(768, 1), std::pair(3072, 1)));
  EXPECT_EQ(histogram.total(), 7U);
}

TEST(Histogram, APowerOfTwoIsWithinItsSpan) {
  Histogram histogram;
  add(histogram, {1, -1});
  EXPECT_EQ(histogram.width(), 2.0 / kSide);
  EXPECT_THAT(filled(histogram), testing::ElementsAre(std::pair(-2048, 1), std::pair(2048, 1)));
}

TEST(Histogram, CountsEachNumberInTheBinThatHoldsIt) {
  const std::vector<float> numbers = numbers_of_all_sizes(3000);
  Histogram histogram;
  add(histogram, numbers);
  std::map<int, std::uint64_t> wanted;
  for (const float number : numbers) {
    const int bin = histogram.bin_of(number);
    EXPECT_LE(histogram.edge(bin), number);
    EXPECT_GT(histogram.edge(bin + 1), number);
    ++wanted[bin - kSide];
  }
  EXPECT_EQ(filled(histogram), wanted);
}

TEST(Histogram, DoesNotDependOnOrderOrSharing) {
  std::vector<float> numbers = numbers_of_all_sizes(5000);
  Histogram all;
  add(all, numbers);
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 4; ++repeat) {
    std::shuffle(numbers.begin(), numbers.end(), random);
    Histogram one;
    std::vector<Histogram> three(3);
    for (std::size_t i = 0; i < numbers.size(); i += 50) {
      const std::vector<float> some(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                                    numbers.begin() + static_cast<std::ptrdiff_t>(i + 50));
      add(one, some);
      add(three[random() % 3], some);
    }
    EXPECT_TRUE(same(one, all));
    Histogram merged;
    for (const Histogram& part : three) merged.merge(part);
    EXPECT_TRUE(same(merged, all));
  }
}

TEST(Histogram, TakesAnySize) {
  Histogram histogram;
  add(histogram, {0, 0});
  EXPECT_THAT(filled(histogram), testing::ElementsAre(std::pair(0, 2)));
  add(histogram, {1e-44F, -1e-38F});  // too small to tell from 0, whose sign they keep
  EXPECT_THAT(filled(histogram), testing::ElementsAre(std::pair(-1, 1), std::pair(0, 3)));
  add(histogram, {1e30F, -1e30F});
  EXPECT_EQ(histogram.total(), 6U);
  EXPECT_EQ(histogram.bins()[static_cast<std::size_t>(histogram.bin_of(1e30F))], 1U);
  EXPECT_EQ(histogram.bins()[static_cast<std::size_t>(histogram.bin_of(-1e30F))], 1U);
  Histogram small;
  add(small, {0.25F});
  histogram.merge(small);
  EXPECT_EQ(filled(histogram).at(0), 4U);
}

}  // namespace
}  // namespace assay::quant
