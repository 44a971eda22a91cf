#include <algorithm>

#include "base/error.h"
#include "image/image.h"

namespace assay::image {
namespace {

/// A sample has 256 values, so every answer is looked up: per channel (v / 255 − mean) / std, each
/// step rounded to float32 as torch rounds it.
using Table = std::array<std::array<float, 256>, 3>;

Table table_of(const Transform& transform) {
  Table table{};
  for (std::size_t c = 0; c < 3; ++c) {
    const auto mean = static_cast<float>(transform.mean[c]);
    const auto std = static_cast<float>(transform.std[c]);
    if (std == 0.0F) {
      fail(ErrorKind::bad_input, "the std {} of channel {} is zero in float32", transform.std[c],
           c);
    }
    for (std::size_t v = 0; v < 256; ++v) {
      table[c][v] = (static_cast<float>(v) / 255.0F - mean) / std;
    }
  }
  return table;
}

std::size_t checked_area(const Image& image, std::span<const float> out) {
  const std::size_t area = static_cast<std::size_t>(std::max(image.width, 0)) *
                           static_cast<std::size_t>(std::max(image.height, 0));
  if (image.pixels.size() != area * 3 || out.size() != area * 3) {
    fail(ErrorKind::bad_input, "an image of {} × {} pixels has {} bytes and room for {} floats",
         image.width, image.height, image.pixels.size(), out.size());
  }
  return area;
}

}  // namespace

void normalize_hwc(const Image& resized, const Transform& transform, std::span<float> out) {
  const std::size_t area = checked_area(resized, out);
  const Table table = table_of(transform);
  const std::uint8_t* in = resized.pixels.data();
  float* to = out.data();
  for (std::size_t i = 0; i < area; ++i, in += 3, to += 3) {
    to[0] = table[0][in[0]];
    to[1] = table[1][in[1]];
    to[2] = table[2][in[2]];
  }
}

void normalize_chw(const Image& resized, const Transform& transform, std::span<float> out) {
  const std::size_t area = checked_area(resized, out);
  const Table table = table_of(transform);
  for (std::size_t c = 0; c < 3; ++c) {
    float* const plane = out.data() + c * area;
    for (std::size_t i = 0; i < area; ++i) plane[i] = table[c][resized.pixels[i * 3 + c]];
  }
}

}  // namespace assay::image
