#pragma once
/// The statistics that measurements and quality figures are quoted with.
#include <cstdint>
#include <functional>
#include <span>

namespace assay {

struct Interval {
  double low = 0;
  double high = 0;
};

/// Median of `samples` (not empty; order free).
double median(std::span<const double> samples);

/// Distribution-free 95% interval of the median from order statistics (binomial; Conover,
/// "Practical Nonparametric Statistics", section 3.2). Fewer than 6 samples give [min, max].
Interval median_interval(std::span<const double> samples);

/// Wilson score interval at 95% for `successes` of `trials` (Wilson 1927). No trials: [0, 1].
Interval wilson_interval(std::uint64_t successes, std::uint64_t trials);

/// Two-sided p-value of McNemar's exact test: of images that just one of two classifiers gets
/// right, `lost` are the first's and `gained` the second's; under equal accuracy each is as likely.
/// 2 · P(Binomial(lost + gained, 1/2) <= the smaller), 1 at most; 1 where both are 0. (McNemar
/// 1947; Agresti, "Categorical Data Analysis", section 11.1.)
double mcnemar_exact(std::uint64_t lost, std::uint64_t gained);

/// What a bootstrap computes from the items that it drew, by index, some several times.
using Statistic = std::function<double(std::span<const std::uint32_t> drawn)>;

/// 95% percentile interval of `statistic` over `resamples` samples of `items` items, drawn with
/// replacement (Efron and Tibshirani, "An Introduction to the Bootstrap", chapter 13). The numbers
/// drawn are the same in every run and on every machine. Throws bad_input for no items or no
/// resamples, and more than 2^32 - 1 items.
Interval bootstrap_interval(std::uint64_t items, const Statistic& statistic, int resamples = 2000);

}  // namespace assay
