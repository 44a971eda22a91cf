#include "quant/glimpse.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay::quant {

float ValueGlimpse::largest() const { return std::max(std::abs(range.low), std::abs(range.high)); }

Range range_of_numbers(std::span<const float> numbers) {
  // Several at a time, which compilers make one instruction of.
  constexpr std::size_t kLanes = 16;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::array<float, kLanes> low;
  std::array<float, kLanes> high;
  std::array<float, kLanes> difference{};
  low.fill(kInfinity);
  high.fill(-kInfinity);
  const auto take = [&](std::size_t lane, float number) {
    low[lane] = number < low[lane] ? number : low[lane];
    high[lane] = number > high[lane] ? number : high[lane];
    difference[lane] += number - number;  // 0, but NaN where the number is not finite
  };
  std::size_t i = 0;
  for (; i + kLanes <= numbers.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, numbers[i + lane]);
  }
  for (; i < numbers.size(); ++i) take(0, numbers[i]);
  Range range{*std::ranges::min_element(low), *std::ranges::max_element(high)};
  for (const float zero : difference) {
    if (zero != 0) range.low = zero;
  }
  return range;
}

void see_channels(std::span<const float> numbers, std::size_t channels, ValueGlimpse& glimpse) {
  glimpse.channel_max.assign(channels, 0);
  glimpse.channel_sum.assign(channels, 0);
  glimpse.positions = numbers.size() / channels;
  float* const largest = glimpse.channel_max.data();
  double* const sums = glimpse.channel_sum.data();
  for (std::size_t row = 0; row < numbers.size(); row += channels) {
    const float* const position = numbers.data() + row;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const float magnitude = std::abs(position[channel]);
      largest[channel] = magnitude > largest[channel] ? magnitude : largest[channel];
      sums[channel] += position[channel];
    }
  }
}

void ValueStats::add(const ValueGlimpse& glimpse) {
  if (!any_) {
    any_ = true;
    range_ = glimpse.range;
    average_low_ = glimpse.range.low;
    average_high_ = glimpse.range.high;
    channel_max_ = glimpse.channel_max;
    channel_sum_ = glimpse.channel_sum;
    positions_ = glimpse.positions;
    return;
  }
  range_.low = std::min(range_.low, glimpse.range.low);
  range_.high = std::max(range_.high, glimpse.range.high);
  average_low_ = kMomentum * average_low_ + (1 - kMomentum) * glimpse.range.low;
  average_high_ = kMomentum * average_high_ + (1 - kMomentum) * glimpse.range.high;
  for (std::size_t channel = 0; channel < channel_max_.size(); ++channel) {
    channel_max_[channel] = std::max(channel_max_[channel], glimpse.channel_max[channel]);
    channel_sum_[channel] += glimpse.channel_sum[channel];
  }
  positions_ += glimpse.positions;
}

Range ValueStats::moving_average() const {
  return {static_cast<float>(average_low_), static_cast<float>(average_high_)};
}

std::vector<float> ValueStats::channel_mean() const {
  std::vector<float> means;
  for (const double sum : channel_sum_) {
    means.push_back(static_cast<float>(sum / static_cast<double>(positions_)));
  }
  return means;
}

}  // namespace assay::quant
