#include <algorithm>

#include "quant/range_search.h"

namespace assay::quant {
namespace {

/// The number that `share` of all are below.
double quantile(const Histogram& histogram, double share) {
  const double wanted = share * static_cast<double>(histogram.total());
  double below = 0;
  int last = 0;
  for (int bin = 0; bin < 2 * Histogram::kSide; ++bin) {
    const auto count = static_cast<double>(histogram.bins()[static_cast<std::size_t>(bin)]);
    if (count == 0) continue;
    if (below + count >= wanted) {
      return histogram.edge(bin) + (wanted - below) / count * histogram.width();
    }
    below += count;
    last = bin;
  }
  return histogram.edge(last + 1);
}

}  // namespace

Range percentile_range(const Histogram& histogram, Range seen, double share) {
  const auto end = [&](double part) {
    return std::clamp(static_cast<float>(quantile(histogram, part)), seen.low, seen.high);
  };
  return {end((1 - share) / 2), end((1 + share) / 2)};
}

}  // namespace assay::quant
