#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  if (samples.empty()) fail(ErrorKind::bad_input, "a median of no samples was asked for");
  std::vector<double> copy(samples.begin(), samples.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

/// The largest k with P(Binomial(n, 1/2) < k) <= tail: the interval of the k-th smallest to the
/// k-th largest sample then misses the median with probability at most 2 * tail. 0: there is none.
std::size_t order_statistic(std::size_t n, double tail) {
  double log_term = -static_cast<double>(n) * std::numbers::ln2;  // log of P(Binomial = k)
  double below = 0;
  std::size_t k = 0;
  while (k < n) {
    below += std::exp(log_term);
    if (below > tail) break;
    log_term += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
    ++k;
  }
  return k;
}

}  // namespace

double median(std::span<const double> samples) {
  const std::vector<double> ordered = sorted(samples);
  const std::size_t half = ordered.size() / 2;
  if (ordered.size() % 2 == 1) return ordered[half];
  return ordered[half - 1] + (ordered[half] - ordered[half - 1]) / 2;
}

Interval median_interval(std::span<const double> samples) {
  const std::vector<double> ordered = sorted(samples);
  const std::size_t k = std::max<std::size_t>(1, order_statistic(ordered.size(), 0.025));
  return {ordered[k - 1], ordered[ordered.size() - k]};
}

Interval wilson_interval(std::uint64_t successes, std::uint64_t trials) {
  if (successes > trials) {
    fail(ErrorKind::bad_input, "{} successes of {} trials were given", successes, trials);
  }
  if (trials == 0) return {0, 1};
  constexpr double z = 1.959963984540054;  // the normal distribution's 97.5% quantile
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(successes) / n;
  const double centre = p + z * z / (2 * n);
  const double spread = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  const double scale = 1 + z * z / n;
  // At p = 0 and 1 the bound is exact; rounding must not push it past.
  return {successes == 0 ? 0 : (centre - spread) / scale,
          successes == trials ? 1 : (centre + spread) / scale};
}

}  // namespace assay
