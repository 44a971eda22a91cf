#include <algorithm>
#include <array>
#include <cmath>

#include "backend/reference/operators.h"

namespace assay::backend::reference {
namespace {

/// The pixels along one axis that make one output pixel, and their weights.
struct Taps {
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> weight{};
  std::size_t count = 0;
};

/// Where an output pixel's centre lies among the input's pixels. In fp32, because torch places its
/// samples in fp32: at coordinates near 200 that shifts them by up to 1e-5 of a pixel.
float source_position(std::int64_t in, std::int64_t out, std::int64_t index) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  return scale * (static_cast<float>(index) + 0.5F) - 0.5F;
}

Taps bilinear_taps(std::int64_t in, std::int64_t out, std::int64_t index) {
  const float position = std::max(source_position(in, out, index), 0.0F);
  const auto first = std::min(static_cast<std::int64_t>(position), in - 1);
  const double rest = static_cast<double>(position) - static_cast<double>(first);
  return {{first, std::min(first + 1, in - 1)}, {1.0 - rest, rest}, 2};
}

/// Cubic convolution with a = -0.75. Source: Keys 1981, "Cubic convolution interpolation for
/// digital image processing", equation 4.
double cubic(double distance) {
  constexpr double a = -0.75;
  const double x = std::abs(distance);
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
}

Taps bicubic_taps(std::int64_t in, std::int64_t out, std::int64_t index) {
  const float position = source_position(in, out, index);
  const float floor = std::floor(position);
  const double rest = static_cast<double>(position) - static_cast<double>(floor);
  Taps taps;
  taps.count = 4;
  for (std::size_t i = 0; i < taps.count; ++i) {
    const auto offset = static_cast<std::int64_t>(i) - 1;
    const std::int64_t place = static_cast<std::int64_t>(floor) + offset;
    taps.index[i] = std::clamp<std::int64_t>(place, 0, in - 1);
    taps.weight[i] = cubic(static_cast<double>(offset) - rest);
  }
  return taps;
}

}  // namespace

void run(const graph::Resize& op, const Call& call) {
  const Tensor& x = call.inputs[0];
  const auto taps = op.mode == graph::ResizeMode::bilinear ? bilinear_taps : bicubic_taps;
  const std::int64_t channels = x.dims[2];
  std::size_t at = 0;
  for (std::int64_t y = 0; y < op.height; ++y) {
    const Taps rows = taps(x.dims[0], op.height, y);
    for (std::int64_t across = 0; across < op.width; ++across) {
      const Taps columns = taps(x.dims[1], op.width, across);
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        double sum = 0.0;
        for (std::size_t i = 0; i < rows.count; ++i) {
          for (std::size_t j = 0; j < columns.count; ++j) {
            const std::int64_t pixel = rows.index[i] * x.dims[1] + columns.index[j];
            sum += rows.weight[i] * columns.weight[j] *
                   x.numbers[static_cast<std::size_t>(pixel * channels + channel)];
          }
        }
        call.out[at++] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace assay::backend::reference
