#include "image/taps.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace assay::image {
namespace {

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double triangle(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

/// Keys' cubic convolution (1981) with a = −0.5.
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kA;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

struct Filter {
  double (*value)(double);
  double support;
};

Filter filter_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::box:
      return {box, 0.5};
    case Interpolation::bilinear:
      return {triangle, 1.0};
    case Interpolation::bicubic:
      return {cubic, 2.0};
    case Interpolation::lanczos:
      return {lanczos, 3.0};
    case Interpolation::nearest:
      break;
  }
  fail(ErrorKind::internal, "{} has no filter", name(interpolation));
}

/// The pixel edge nearest to a position, halves upwards.
std::int64_t nearest_edge(double position) {
  return static_cast<std::int64_t>(std::floor(position + 0.5));
}

std::int32_t fixed_point(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<std::int32_t>(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

void Taps::compute(const Axis& axis) {
  const Filter filter = filter_of(axis.interpolation);
  const double scale = static_cast<double>(axis.in) / static_cast<double>(axis.out);
  const double stretch = std::max(scale, 1.0);
  const double support = filter.support * stretch;
  const double shrink = 1.0 / stretch;

  constexpr double kMostWeights = 1 << 28;
  const double taps = std::min(2 * std::ceil(support) + 1, static_cast<double>(axis.in));
  if (taps * static_cast<double>(axis.count) > kMostWeights) {
    fail(ErrorKind::bad_input, "a side of {} pixels is too long to be resized to {}", axis.in,
         axis.out);
  }
  spans_.clear();
  weights_.clear();
  max_size_ = 0;
  input_begin_ = axis.in;
  input_end_ = 0;
  for (std::int64_t i = axis.first; i < axis.first + axis.count; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const std::int64_t begin = std::max<std::int64_t>(nearest_edge(centre - support), 0);
    const std::int64_t end = std::min(nearest_edge(centre + support), axis.in);
    exact_.clear();
    double total = 0.0;
    for (std::int64_t x = begin; x < end; ++x) {
      exact_.push_back(filter.value((static_cast<double>(x) - centre + 0.5) * shrink));
      total += exact_.back();
    }
    spans_.push_back({begin, weights_.size(), exact_.size()});
    for (const double weight : exact_) {
      weights_.push_back(fixed_point(total != 0.0 ? weight / total : weight));
    }
    max_size_ = std::max(max_size_, end - begin);
    input_begin_ = std::min(input_begin_, begin);
    input_end_ = std::max(input_end_, end);
  }
}

void nearest_indices(const Axis& axis, std::vector<std::int64_t>& indices) {
  indices.clear();
  const double scale = static_cast<double>(axis.in) / static_cast<double>(axis.out);
  double position = scale * 0.5;
  for (std::int64_t i = 0; i < axis.first + axis.count; ++i, position += scale) {
    if (i < axis.first) continue;
    const auto index = static_cast<std::int64_t>(position);
    indices.push_back(index < axis.in ? index : -1);
  }
}

}  // namespace assay::image
