#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

/// SplitMix64 (Steele, Lea and Flood 2014): the standard's distributions differ from library to
/// library, these numbers do not.
class Draws {
 public:
  /// Uniform in [0, bound), by the upper half of a product.
  std::uint32_t below(std::uint32_t bound) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31;
    return static_cast<std::uint32_t>(((mixed >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_ = 1;
};

/// The value below which `share` of the `ordered` lie, by the nearest rank.
double percentile(std::span<const double> ordered, double share) {
  const auto last = static_cast<double>(ordered.size() - 1);
  return ordered[static_cast<std::size_t>(std::nearbyint(share * last))];
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

double mcnemar_exact(std::uint64_t lost, std::uint64_t gained) {
  const std::uint64_t trials = lost + gained;
  const std::uint64_t fewer = std::min(lost, gained);
  double log_term = -static_cast<double>(trials) * std::numbers::ln2;
  double tail = 0;
  for (std::uint64_t k = 0; k <= fewer; ++k) {
    tail += std::exp(log_term);
    log_term += std::log(static_cast<double>(trials - k) / static_cast<double>(k + 1));
  }
  return std::min(1.0, 2 * tail);
}

Interval bootstrap_interval(std::uint64_t items, const Statistic& statistic, int resamples) {
  if (items == 0 || items > std::numeric_limits<std::uint32_t>::max() || resamples < 1)
    fail(ErrorKind::bad_input, "a bootstrap of {} items and {} resamples was asked for", items,
         resamples);
  Draws draws;
  std::vector<std::uint32_t> drawn(items);
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(resamples));
  for (int i = 0; i < resamples; ++i) {
    for (std::uint32_t& item : drawn) item = draws.below(static_cast<std::uint32_t>(items));
    values.push_back(statistic(drawn));
  }
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.025), percentile(values, 0.975)};
}

}  // namespace assay
