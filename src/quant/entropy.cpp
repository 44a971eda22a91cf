#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/e4m3.h"
#include "quant/range_search.h"
#include "quant/scales.h"

namespace assay::quant {
namespace {

using numerics::E4m3;

constexpr int kSteps = 256;
constexpr int kSmallest = 16;
constexpr E4m3::Code kLargestCode = 0x7E;

/// The numbers halfway between neighbouring codes, ascending, for operands of range `range`.
std::vector<double> borders_for(Range range, Format format) {
  std::vector<double> between;
  if (format == Format::int8) {
    const numerics::AffineU8 affine = affine_for(range);
    for (int code = 0; code < 255; ++code) {
      between.push_back(static_cast<double>(affine.scale) * (code - affine.zero_point + 0.5));
    }
    return between;
  }
  const double scale = e4m3_scale_for(range);
  for (E4m3::Code code = 0; code < kLargestCode; ++code) {
    const auto next = static_cast<E4m3::Code>(code + 1);
    between.push_back(scale * 0.5 * (E4m3::decode(code) + E4m3::decode(next)));
    between.push_back(-between.back());
  }
  std::ranges::sort(between);
  return between;
}

/// Sums over the bins before each bin, so that those of any run of bins are two look-ups away.
class Sums {
 public:
  explicit Sums(const Histogram& histogram)
      : count_(kBins + 1), filled_(kBins + 1), entropy_(kBins + 1) {
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const std::uint64_t count = histogram.bins()[bin];
      count_[bin + 1] = count_[bin] + count;
      filled_[bin + 1] = filled_[bin] + (count > 0 ? 1 : 0);
      entropy_[bin + 1] = entropy_[bin] + n_log_n(static_cast<double>(count));
    }
  }

  static double n_log_n(double n) { return n > 0 ? n * std::log(n) : 0; }
  [[nodiscard]] double count(int begin, int end) const {
    return static_cast<double>(count_[at(end)] - count_[at(begin)]);
  }
  [[nodiscard]] int filled(int begin, int end) const {
    return filled_[at(end)] - filled_[at(begin)];
  }
  /// Of count × log(count).
  [[nodiscard]] double entropy(int begin, int end) const {
    return entropy_[at(end)] - entropy_[at(begin)];
  }

 private:
  static constexpr std::size_t kBins = std::size_t{2} * Histogram::kSide;
  static std::size_t at(int bin) { return static_cast<std::size_t>(bin); }

  std::vector<std::uint64_t> count_;
  std::vector<int> filled_;
  std::vector<double> entropy_;
};

/// The outermost bins of a clipped histogram, and what came to them from beyond.
struct Clipped {
  struct End {
    int bin = 0;
    double more = 0;
  };
  int first = 0;
  int last = 0;
  std::vector<End> ends;  ///< one where they are the same
};

Clipped clip(const Sums& sums, const Histogram& histogram, Range range) {
  Clipped clipped{histogram.bin_of(range.low), histogram.bin_of(range.high), {}};
  const double below = sums.count(0, clipped.first);
  const double above = sums.count(clipped.last + 1, 2 * Histogram::kSide);
  if (clipped.first == clipped.last) {
    clipped.ends = {{clipped.first, below + above}};
  } else {
    clipped.ends = {{clipped.first, below}, {clipped.last, above}};
  }
  return clipped;
}

/// The end of the bins whose center is below `border`, within P.
int end_below(const Histogram& histogram, const Clipped& p, double border) {
  const double place = std::ceil(border / histogram.width() - 0.5) + Histogram::kSide;
  return static_cast<int>(std::clamp(place, 1.0 * p.first, p.last + 1.0));
}

/// g log (m / n) for the bins [begin, end) of one code: m counts what Q has there, g what P has, n
/// the bins that P fills. Minus infinity where P has something and Q nothing.
double cross_term(const Sums& sums, const Clipped& p, int begin, int end) {
  const double mass = sums.count(begin, end);
  double group = mass;
  int filled = sums.filled(begin, end);
  for (const auto& [bin, more] : p.ends) {
    if (bin < begin || bin >= end || more == 0) continue;
    group += more;
    if (sums.filled(bin, bin + 1) == 0) ++filled;
  }
  return group > 0 ? group * std::log(mass / filled) : 0;
}

/// KL(P || Q) in nats: with P's count p in a bin and the symbols above, it is
/// (Σ p log p − Σ g log (m / n)) / Σ p − log Σ p + log Σ m. Not finite where Q lacks what P has.
double divergence(const Sums& sums, const Histogram& histogram, const Clipped& p,
                  std::span<const double> borders) {
  const double inside = sums.count(p.first, p.last + 1);
  double all = inside;
  double entropy = sums.entropy(p.first, p.last + 1);
  for (const auto& [bin, more] : p.ends) {
    const double count = sums.count(bin, bin + 1);
    all += more;
    entropy += Sums::n_log_n(count + more) - Sums::n_log_n(count);
  }
  double cross = 0;
  int begin = p.first;
  for (const double border : borders) {
    const int end = end_below(histogram, p, border);
    if (end > begin) cross += cross_term(sums, p, begin, end);
    begin = std::max(begin, end);
  }
  if (begin <= p.last) cross += cross_term(sums, p, begin, p.last + 1);
  return (entropy - cross) / all - std::log(all) + std::log(inside);
}

}  // namespace

Range entropy_range(const Histogram& histogram, Range seen, Format format) {
  const Sums sums(histogram);
  const float largest = std::max(std::abs(seen.low), std::abs(seen.high));
  Range best = seen;
  double smallest = std::numeric_limits<double>::infinity();
  for (int step = kSteps; step >= kSmallest; --step) {
    const float threshold = largest * (static_cast<float>(step) / kSteps);
    const Range range{std::clamp(seen.low, -threshold, threshold),
                      std::clamp(seen.high, -threshold, threshold)};
    const double loss =
        divergence(sums, histogram, clip(sums, histogram, range), borders_for(range, format));
    if (!(loss < smallest)) continue;  // nor where it is not a number
    smallest = loss;
    best = range;
  }
  return best;
}

}  // namespace assay::quant
