#include "study/stress.h"

#include <cmath>
#include <functional>
#include <random>

#include "base/error.h"

namespace assay::study {
namespace {

struct Place {
  int y = 0;
  int x = 0;
  int channel = 0;
};

/// The frame that a pattern fills in, and numbers to draw.
struct Frame {
  int height = 0;
  int width = 0;
  std::mt19937 random{1};

  /// Uniform in [0, 1); the standard's distributions differ from library to library.
  double uniform() { return static_cast<double>(random()) / 4294967296.0; }
  /// Standard normal (Box and Muller 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
};

using Number = std::function<double(Frame& frame, const Place& place)>;

enum class Of { pixels, tensor };  ///< pixels, 0 ... 1, are normalized

struct Pattern {
  const char* name;
  Of of;
  Number number;
};

Number constant(double value) {
  return [value](Frame&, const Place&) { return value; };
}

/// One channel at 1, the others at `rest`.
Number saturated(int channel, double rest) {
  return [=](Frame&, const Place& place) { return place.channel == channel ? 1.0 : rest; };
}

Number checkerboard(int side, double even, double odd) {
  return [=](Frame&, const Place& place) {
    return (place.y / side + place.x / side) % 2 == 0 ? even : odd;
  };
}

/// One pixel of `value` on `rest`.
Number impulse(bool centre, double value, double rest) {
  return [=](Frame& frame, const Place& place) {
    const int y = centre ? frame.height / 2 : 0;
    const int x = centre ? frame.width / 2 : 0;
    return place.y == y && place.x == x ? value : rest;
  };
}

Number gaussian(double deviation) {
  return [=](Frame& frame, const Place&) { return deviation * frame.normal(); };
}

Number uniform(double low, double high) {
  return [=](Frame& frame, const Place&) { return low + (high - low) * frame.uniform(); };
}

/// A few pixels at 0 or 1, the rest grey.
double salt_and_pepper(Frame& frame, const Place&) {
  const double draw = frame.uniform();
  return draw < 0.05 ? 0 : draw > 0.95 ? 1 : 0.5;
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all{
      {"tensor of zeros", Of::tensor, constant(0)},
      {"tensor of ones", Of::tensor, constant(1)},
      {"tensor of minus ones", Of::tensor, constant(-1)},
      {"tensor of 1e-40", Of::tensor, constant(1e-40)},
      {"black", Of::pixels, constant(0)},
      {"white", Of::pixels, constant(1)},
      {"grey", Of::pixels, constant(0.5)},
      {"red saturated", Of::pixels, saturated(0, 0)},
      {"green saturated", Of::pixels, saturated(1, 0)},
      {"blue saturated", Of::pixels, saturated(2, 0)},
      {"red saturated on grey", Of::pixels, saturated(0, 0.5)},
      {"checkerboard of pixels", Of::pixels, checkerboard(1, 0, 1)},
      {"checkerboard of 8 pixels", Of::pixels, checkerboard(8, 0, 1)},
      {"checkerboard of 32 pixels", Of::pixels, checkerboard(32, 0, 1)},
      {"upright stripes", Of::pixels, [](Frame&, const Place& at) { return at.x % 2; }},
      {"level stripes", Of::pixels, [](Frame&, const Place& at) { return at.y % 2; }},
      {"ramp", Of::pixels,
       [](Frame& frame, const Place& at) { return static_cast<double>(at.x) / frame.width; }},
      {"white impulse on black", Of::pixels, impulse(true, 1, 0)},
      {"black impulse on white", Of::pixels, impulse(true, 0, 1)},
      {"white impulse in a corner", Of::pixels, impulse(false, 1, 0)},
      {"uniform noise", Of::pixels, uniform(0, 1)},
      {"salt and pepper", Of::pixels, salt_and_pepper},
      {"Gaussian noise 0.01", Of::tensor, gaussian(0.01)},
      {"Gaussian noise 1", Of::tensor, gaussian(1)},
      {"Gaussian noise 10", Of::tensor, gaussian(10)},
      {"Gaussian noise 100", Of::tensor, gaussian(100)},
      {"Gaussian noise 1000", Of::tensor, gaussian(1000)},
      {"pixels at 10", Of::pixels, constant(10)},
      {"pixels at 1000", Of::pixels, constant(1000)},
      {"pixels at 10000", Of::pixels, constant(1e4)},
      {"pixels at -10000", Of::pixels, constant(-1e4)},
      {"tensor checkerboard of 10000", Of::tensor, checkerboard(1, -1e4, 1e4)},
      {"tensor impulse of 10000", Of::tensor, impulse(true, 1e4, 0)},
      {"tensor noise to 10000", Of::tensor, uniform(-1e4, 1e4)},
  };
  return all;
}

}  // namespace

std::vector<std::string> stress_names() {
  std::vector<std::string> names;
  for (const Pattern& pattern : patterns()) names.emplace_back(pattern.name);
  return names;
}

StressTensor stress_input(std::size_t index, const image::Transform& transform) {
  if (index >= patterns().size()) fail(ErrorKind::internal, "there is no stress input {}", index);
  const Pattern& pattern = patterns()[index];
  Frame frame{transform.input_height, transform.input_width, std::mt19937(1)};
  StressTensor tensor{pattern.name, {}};
  tensor.numbers.reserve(3 * static_cast<std::size_t>(frame.height) *
                         static_cast<std::size_t>(frame.width));
  for (int y = 0; y < frame.height; ++y)
    for (int x = 0; x < frame.width; ++x)
      for (int channel = 0; channel < 3; ++channel) {
        const auto c = static_cast<std::size_t>(channel);
        const double number = pattern.number(frame, {y, x, channel});
        tensor.numbers.push_back(static_cast<float>(
            pattern.of == Of::tensor ? number : (number - transform.mean[c]) / transform.std[c]));
      }
  return tensor;
}

}  // namespace assay::study
