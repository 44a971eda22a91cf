#include <limits>

#include "numerics/e4m3.h"
#include "quant/range_search.h"
#include "quant/scales.h"

namespace assay::quant {
namespace {

using numerics::E4m3;

constexpr int kSteps = 128;
constexpr int kSmallest = 8;

struct Bin {
  float center = 0;
  double count = 0;
};

std::vector<Bin> filled_bins(const Histogram& histogram) {
  std::vector<Bin> bins;
  for (int bin = 0; bin < 2 * Histogram::kSide; ++bin) {
    const std::uint64_t count = histogram.bins()[static_cast<std::size_t>(bin)];
    if (count == 0) continue;
    bins.push_back({static_cast<float>(histogram.center(bin)), static_cast<double>(count)});
  }
  return bins;
}

template <typename Round>
double squared_error(std::span<const Bin> bins, const Round& round) {
  double sum = 0;
  for (const Bin& bin : bins) {
    const double error = static_cast<double>(round(bin.center)) - bin.center;
    sum += bin.count * error * error;
  }
  return sum;
}

double squared_error(std::span<const Bin> bins, Range range, Format format) {
  if (format == Format::int8) {
    const numerics::AffineU8 affine = affine_for(range);
    return squared_error(bins,
                         [affine](float number) { return affine.decode(affine.encode(number)); });
  }
  const float scale = e4m3_scale_for(range);
  const float inverse = 1 / scale;
  return squared_error(bins, [scale, inverse](float number) {
    return scale * E4m3::decode(E4m3::encode(number * inverse));
  });
}

}  // namespace

Range mse_range(const Histogram& histogram, Range seen, Format format) {
  const std::vector<Bin> bins = filled_bins(histogram);
  Range best = seen;
  double smallest = std::numeric_limits<double>::infinity();
  for (int step = kSteps; step >= kSmallest; --step) {
    const float factor = static_cast<float>(step) / kSteps;
    const Range range{seen.low * factor, seen.high * factor};
    const double error = squared_error(bins, range, format);
    if (error >= smallest) continue;
    smallest = error;
    best = range;
  }
  return best;
}

}  // namespace assay::quant
