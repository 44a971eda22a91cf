#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "assay/error.h"

namespace assay {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> samples(static_cast<std::size_t>(n));
  std::iota(samples.rbegin(), samples.rend(), 1.0);  // descending: order must not matter
  return samples;
}

TEST(Median, OddEvenAndSingle) {
  EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_EQ(median(std::vector{7.0}), 7.0);
  EXPECT_THROW(static_cast<void>(median({})), Error);
}

// Ranks from the binomial distribution's table: P(B(n, 1/2) < k) <= 0.025.
TEST(MedianInterval, RanksOfTheBinomialTable) {
  struct Row {
    int n;
    double low, high;
  };
  for (const Row& row : {Row{5, 1, 5}, Row{6, 1, 6}, Row{8, 1, 8}, Row{9, 2, 8}, Row{10, 2, 9},
                         Row{20, 6, 15}, Row{30, 10, 21}, Row{100, 40, 61}}) {
    const Interval interval = median_interval(one_to(row.n));
    EXPECT_EQ(interval.low, row.low) << "n = " << row.n;
    EXPECT_EQ(interval.high, row.high) << "n = " << row.n;
  }
}

TEST(MedianInterval, ManySamplesFollowTheNormalApproximation) {
  const Interval interval = median_interval(one_to(100'000));
  EXPECT_NEAR(interval.low, 50'000 - 1.96 * std::sqrt(100'000.0) / 2, 2);
  EXPECT_NEAR(interval.high, 50'000 + 1.96 * std::sqrt(100'000.0) / 2, 2);
}

// The worked examples of Newcombe, "Two-sided confidence intervals for the single proportion",
// Statistics in Medicine 17 (1998), table I, method 3.
TEST(WilsonInterval, PublishedExamples) {
  struct Row {
    std::uint64_t successes, trials;
    double low, high;
  };
  for (const Row& row : {Row{81, 263, 0.2553, 0.3662}, Row{15, 148, 0.0624, 0.1605},
                         Row{0, 20, 0.0, 0.1611}, Row{1, 29, 0.0061, 0.1718}}) {
    const Interval interval = wilson_interval(row.successes, row.trials);
    EXPECT_NEAR(interval.low, row.low, 5e-5);
    EXPECT_NEAR(interval.high, row.high, 5e-5);
  }
  EXPECT_EQ(wilson_interval(0, 20).low, 0.0);
  EXPECT_EQ(wilson_interval(20, 20).high, 1.0);
}

TEST(WilsonInterval, NothingTriedIsNothingKnown) {
  EXPECT_EQ(wilson_interval(0, 0).low, 0.0);
  EXPECT_EQ(wilson_interval(0, 0).high, 1.0);
  EXPECT_THROW(static_cast<void>(wilson_interval(2, 1)), Error);
}

// scipy.stats.binomtest(lost, lost + gained).pvalue.
TEST(McNemar, ExactBinomialTail) {
  EXPECT_EQ(mcnemar_exact(0, 0), 1.0);
  EXPECT_EQ(mcnemar_exact(7, 7), 1.0);
  EXPECT_NEAR(mcnemar_exact(0, 5), 0.0625, 1e-12);
  EXPECT_NEAR(mcnemar_exact(1, 9), 0.021484375, 1e-12);
  EXPECT_NEAR(mcnemar_exact(9, 1), 0.021484375, 1e-12);
  EXPECT_NEAR(mcnemar_exact(3, 12), 0.03515625, 1e-12);
  EXPECT_LT(mcnemar_exact(0, 5000), 1e-300);
}

TEST(Bootstrap, CoversAMeanAsTheNormalApproximationDoes) {
  std::vector<double> items;
  for (int i = 0; i < 400; ++i) items.push_back(i % 2);  // mean 0.5, deviation 0.5
  const auto mean = [&](std::span<const std::uint32_t> drawn) {
    double sum = 0;
    for (const std::uint32_t item : drawn) sum += items[item];
    return sum / static_cast<double>(drawn.size());
  };
  const Interval interval = bootstrap_interval(items.size(), mean);
  EXPECT_NEAR(interval.low, 0.5 - 1.96 * 0.5 / 20, 0.006);
  EXPECT_NEAR(interval.high, 0.5 + 1.96 * 0.5 / 20, 0.006);
  const Interval again = bootstrap_interval(items.size(), mean);
  EXPECT_EQ(interval.low, again.low);
  EXPECT_EQ(interval.high, again.high);
}

TEST(Bootstrap, DrawsEveryItemAboutEquallyOften) {
  std::vector<int> count(10, 0);
  bootstrap_interval(10, [&](std::span<const std::uint32_t> drawn) {
    for (const std::uint32_t item : drawn) ++count.at(item);
    return 0.0;
  });
  for (const int times : count) EXPECT_NEAR(times, 2000, 200);
}

TEST(Bootstrap, RefusesNothingToDraw) {
  const auto zero = [](std::span<const std::uint32_t>) { return 0.0; };
  EXPECT_THROW(static_cast<void>(bootstrap_interval(0, zero)), Error);
  EXPECT_THROW(static_cast<void>(bootstrap_interval(5, zero, 0)), Error);
}

}  // namespace
}  // namespace assay
