#pragma once
/// The statistics that measurements and quality figures are quoted with.
#include <cstdint>
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

}  // namespace assay
