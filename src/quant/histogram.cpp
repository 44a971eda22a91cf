#include "quant/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace assay::quant {
namespace {

/// Where the span begins: so small that what is below it is as good as 0, and large enough for the
/// inverse of a bin's width to be an fp32 number.
constexpr int kSmallestExponent = -100;
constexpr int kSideBits = 12;
static_assert(1 << kSideBits == Histogram::kSide);

/// The smallest power of two above `largest`.
int exponent_above(float largest) {
  int exponent = kSmallestExponent;
  if (largest > 0) std::frexp(largest, &exponent);
  return std::max(exponent, kSmallestExponent);
}

/// Of a bin that is counted from 0 on, negative to the left.
std::size_t index_of(int bin) {
  return static_cast<std::size_t>(std::int64_t{bin} + Histogram::kSide);
}

}  // namespace

Histogram::Histogram() : exponent_(kSmallestExponent), bins_(std::size_t{2} * kSide) {}

double Histogram::width() const { return std::ldexp(1.0, exponent_ - kSideBits); }

int Histogram::bin_of(double number) const {
  const double place = std::clamp(std::floor(number / width()), -1.0 * kSide, kSide - 1.0);
  return static_cast<int>(place) + kSide;
}

std::uint64_t Histogram::total() const {
  return std::accumulate(bins_.begin(), bins_.end(), std::uint64_t{0});
}

void Histogram::widen_to(int exponent) {
  if (exponent <= exponent_) return;
  const int shift = std::min(exponent - exponent_, kSideBits + 1);
  std::vector<std::uint64_t> merged(bins_.size());
  for (int bin = -kSide; bin < kSide; ++bin) {
    // A right shift rounds down, so that 0 stays an edge.
    merged[index_of(bin >> shift)] += bins_[index_of(bin)];
  }
  bins_ = std::move(merged);
  exponent_ = exponent;
}

void Histogram::add(std::span<const float> numbers, float largest) {
  widen_to(exponent_above(largest));
  const auto inverse = std::ldexp(1.0F, kSideBits - exponent_);  // so that the product is exact
  std::array<std::int32_t, 256> places;
  while (!numbers.empty()) {
    const std::span<const float> some = numbers.first(std::min(numbers.size(), places.size()));
    for (std::size_t i = 0; i < some.size(); ++i) {
      const float place = some[i] * inverse;
      const auto whole = static_cast<std::int32_t>(place);
      places[i] = kSide + whole - (place < static_cast<float>(whole) ? 1 : 0);
    }
    for (std::size_t i = 0; i < some.size(); ++i) ++bins_[static_cast<std::size_t>(places[i])];
    numbers = numbers.subspan(some.size());
  }
}

void Histogram::merge(const Histogram& other) {
  widen_to(other.exponent_);
  const int shift = std::min(exponent_ - other.exponent_, kSideBits + 1);
  for (int bin = -kSide; bin < kSide; ++bin) {
    bins_[index_of(bin >> shift)] += other.bins_[index_of(bin)];
  }
}

}  // namespace assay::quant
