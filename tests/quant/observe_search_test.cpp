/// Ranges found in histograms, against hand-computed ones and searches that try everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "numerics/e4m3.h"
#include "quant/range_search.h"
#include "quant/scales.h"

namespace assay::quant {
namespace {

using numerics::E4m3;

constexpr std::array kFormats{Format::int8, Format::e4m3};

/// Numbers, their histogram and their range.
struct Sample {
  explicit Sample(std::vector<float> all) : numbers(std::move(all)) {
    seen = {*std::ranges::min_element(numbers), *std::ranges::max_element(numbers)};
    histogram.add(numbers, std::max(std::abs(seen.low), std::abs(seen.high)));
  }
  std::vector<float> numbers;
  Histogram histogram;
  Range seen;
};

/// Sums of twelve uniform numbers, less 6: of variance 1 and near normal, below 6 in magnitude.
std::vector<float> bell(std::size_t count) {
  std::mt19937 random(11);
  std::vector<float> numbers;
  while (numbers.size() < count) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
    numbers.push_back(static_cast<float>(sum));
  }
  return numbers;
}

/// A bell, and a few numbers far from it.
Sample with_outliers(float outlier) {
  std::vector<float> numbers = bell(100'000);
  for (int i = 0; i < 5; ++i) numbers.push_back(outlier);
  return Sample(numbers);
}

/// As SiLU would have it: nothing below -0.28.
Sample one_sided() {
  std::vector<float> numbers = bell(50'000);
  for (float& number : numbers) {
    number *= 3;
    number = number / (1 + std::exp(-number));
  }
  return Sample(numbers);
}

/// All numbers that a format has for operands of `range`, ascending.
std::vector<double> numbers_of(Range range, Format format) {
  std::vector<double> numbers;
  if (format == Format::int8) {
    const numerics::AffineU8 affine = affine_for(range);
    for (int code = 0; code < 256; ++code) {
      numbers.push_back(static_cast<double>(affine.scale) * (code - affine.zero_point));
    }
  } else {
    const double largest = std::max(std::abs(range.low), std::abs(range.high));
    for (int code = 0; code < 0x7F; ++code) {
      const double number = E4m3::decode(static_cast<E4m3::Code>(code)) * largest / 448;
      numbers.push_back(number);
      numbers.push_back(-number);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

/// The place of the nearest of `sorted`.
std::size_t nearest(const std::vector<double>& sorted, double number) {
  const auto above = static_cast<std::size_t>(
      std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin());
  if (above == 0) return 0;
  if (above == sorted.size()) return above - 1;
  return number - sorted[above - 1] < sorted[above] - number ? above - 1 : above;
}

double mean_squared_error(const std::vector<float>& numbers, Range range, Format format) {
  const std::vector<double> values = numbers_of(range, format);
  double sum = 0;
  for (const float number : numbers) {
    const double error = values[nearest(values, number)] - number;
    sum += error * error;
  }
  return sum / static_cast<double>(numbers.size());
}

TEST(PercentileRange, ByHand) {
  std::vector<float> numbers;
  for (int i = 0; i < 10'000; ++i) numbers.push_back(static_cast<float>(i) / 10'000 - 0.25F);
  const Sample sample(numbers);
  // 0.05% are cut off at either end.
  const Range range = percentile_range(sample.histogram, sample.seen, 0.999);
  EXPECT_NEAR(range.low, -0.2495, sample.histogram.width());
  EXPECT_NEAR(range.high, 0.7495, sample.histogram.width());
  EXPECT_EQ(percentile_range(sample.histogram, sample.seen, 1).low, sample.seen.low);
  EXPECT_EQ(percentile_range(sample.histogram, sample.seen, 1).high, sample.seen.high);
}

TEST(PercentileRange, IsAQuantileOfTheNumbersToOneBin) {
  for (const Sample& sample : {with_outliers(40), with_outliers(-17), one_sided()}) {
    std::vector<float> sorted = sample.numbers;
    std::ranges::sort(sorted);
    for (const double share : {0.999, 0.9999, 0.99999}) {
      const auto at = [&](double part) {
        return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
      };
      const Range range = percentile_range(sample.histogram, sample.seen, share);
      // The bins beside it may be empty, and the quantile is then between two numbers.
      const double low = at((1 - share) / 2);
      const double high = at((1 + share) / 2);
      const double slack = 2 * sample.histogram.width();
      const auto gap = [&](double number) {
        const auto above = std::ranges::upper_bound(sorted, static_cast<float>(number + 1e-6));
        return above == sorted.end() ? 0 : *above - number;
      };
      EXPECT_NEAR(range.low, low, slack + gap(low));
      EXPECT_NEAR(range.high, high, slack + gap(high));
    }
  }
  const Sample sample = with_outliers(40);
  EXPECT_LT(percentile_range(sample.histogram, sample.seen, 0.999).high, 5);  // 5 of 100,005
}

TEST(MseRange, NoRangeOfItsGridIsBetter) {
  for (const Sample& sample : {with_outliers(40), with_outliers(-9), one_sided()}) {
    for (const Format format : kFormats) {
      std::vector<float> some;  // one in ten: to be quick
      for (std::size_t i = 0; i < sample.numbers.size(); i += 10) some.push_back(sample.numbers[i]);
      const Sample fewer(some);
      const Range range = mse_range(fewer.histogram, fewer.seen, format);
      double best = std::numeric_limits<double>::infinity();
      for (int step = 1; step <= 128; ++step) {
        const float factor = static_cast<float>(step) / 128;
        best = std::min(
            best,
            mean_squared_error(some, {fewer.seen.low * factor, fewer.seen.high * factor}, format));
      }
      // The search sees the bins' centers, not the numbers.
      EXPECT_LE(mean_squared_error(some, range, format), 1.02 * best) << name(format);
      const float factor = range.high / fewer.seen.high;
      EXPECT_FLOAT_EQ(range.low, fewer.seen.low * factor) << "clipped by one factor";
    }
  }
}

TEST(MseRange, ClipsARareOutlier) {
  std::vector<float> numbers = bell(100'000);
  numbers.push_back(12);
  const Sample sample(numbers);
  const Range range = mse_range(sample.histogram, sample.seen, Format::int8);
  // To [-4.6 f, 12 f]: the bell's steps become finer by 1 - f, and one number is off by 12 (1 - f).
  EXPECT_LT(range.high, 11.9);
  EXPECT_GT(range.high, 8);
}

TEST(MseRange, KeepsWhatIsEven) {
  std::vector<float> numbers;
  for (int i = 0; i <= 255; ++i) numbers.push_back(static_cast<float>(i));
  const Sample sample(numbers);
  EXPECT_EQ(mse_range(sample.histogram, sample.seen, Format::int8), sample.seen);
}

/// KL(P || Q) by definition, bin by bin.
double divergence(const Sample& sample, double threshold, Format format) {
  const Histogram& histogram = sample.histogram;
  const auto clamped = [&](double end) { return std::clamp(end, -threshold, threshold); };
  const Range range{static_cast<float>(clamped(sample.seen.low)),
                    static_cast<float>(clamped(sample.seen.high))};
  const std::vector<double> values = numbers_of(range, format);
  const int first = histogram.bin_of(range.low);
  const int last = histogram.bin_of(range.high);
  std::map<int, double> p;
  std::map<int, double> inside;
  for (int bin = 0; bin < 2 * Histogram::kSide; ++bin) {
    const auto count = static_cast<double>(histogram.bins()[static_cast<std::size_t>(bin)]);
    if (count == 0) continue;
    p[std::clamp(bin, first, last)] += count;
    if (bin >= first && bin <= last) inside[bin] = count;
  }
  std::map<std::size_t, double> mass;
  std::map<std::size_t, int> bins;
  double all = 0;
  double kept = 0;
  for (const auto& [bin, count] : p) {
    const std::size_t code = nearest(values, histogram.center(bin));
    ++bins[code];
    if (inside.contains(bin)) mass[code] += inside[bin];
    if (inside.contains(bin)) kept += inside[bin];
    all += count;
  }
  double sum = 0;
  for (const auto& [bin, count] : p) {
    const std::size_t code = nearest(values, histogram.center(bin));
    const double q = mass[code] / bins[code] / kept;
    sum += count / all * std::log(count / all / q);
  }
  return sum;
}

TEST(EntropyRange, NoThresholdOfItsGridIsBetter) {
  for (const Sample& sample : {with_outliers(40), with_outliers(-9), one_sided()}) {
    const double largest = std::max(std::abs(sample.seen.low), std::abs(sample.seen.high));
    for (const Format format : kFormats) {
      const Range range = entropy_range(sample.histogram, sample.seen, format);
      double best = std::numeric_limits<double>::infinity();
      for (int step = 256; step >= 16; step -= 3) {
        best = std::min(best, divergence(sample, largest * step / 256, format));
      }
      const double threshold = std::max(std::abs(range.low), std::abs(range.high));
      EXPECT_LE(divergence(sample, threshold, format), best + 1e-4) << name(format);
    }
  }
}

TEST(EntropyRange, CutsOutliersOff) {
  for (const float outlier : {40.0F, -40.0F}) {
    const Sample sample = with_outliers(outlier);
    const Range range = entropy_range(sample.histogram, sample.seen, Format::int8);
    EXPECT_LT(range.high, 10);
    EXPECT_GT(range.high, 2.4);  // of a bell of variance 1
    EXPECT_GT(range.low, -10);
    EXPECT_LT(range.low, -2.4);
  }
}

TEST(EntropyRange, KeepsTheSmallerSide) {
  const Sample sample = one_sided();
  const Range range = entropy_range(sample.histogram, sample.seen, Format::int8);
  EXPECT_EQ(range.low, sample.seen.low);
}

TEST(Searches, TakeConstantsAndZeros) {
  using Search = std::function<Range(const Histogram&, Range)>;
  std::vector<Search> searches{
      [](const Histogram& h, Range seen) { return percentile_range(h, seen, 0.999); }};
  for (const Format format : kFormats) {
    searches.emplace_back(
        [format](const Histogram& h, Range seen) { return mse_range(h, seen, format); });
    searches.emplace_back(
        [format](const Histogram& h, Range seen) { return entropy_range(h, seen, format); });
  }
  for (const float number : {0.0F, 1e-40F, 3.0F, -3.0F, 1e30F, -1e30F}) {
    const Sample sample(std::vector<float>(10, number));
    for (const Search& search : searches) {
      const Range range = search(sample.histogram, sample.seen);
      EXPECT_LE(range.low, range.high) << number;
      EXPECT_LE(std::abs(range.low), std::abs(number));
      EXPECT_LE(std::abs(range.high), std::abs(number));
      EXPECT_GE(std::abs(range.high), std::abs(number) / 16);
    }
  }
}

}  // namespace
}  // namespace assay::quant
