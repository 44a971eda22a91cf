#include "image/geometry.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "image/limits.h"

namespace assay::image {
namespace {

/// PIL holds no image with a longer side: four bytes a pixel must fit a 31-bit row.
constexpr std::int64_t kLongestSide = 0x7fff'ffff / 4 - 1;

/// Python's round(): halves go to the even neighbour.
std::int64_t round_half_even(double value) { return std::llrint(value); }

/// Where a centred window of `window` begins in `size`. CenterCrop and CenterCropOrPad agree: a
/// smaller image is padded with the odd pixel after it, a larger one cropped at
/// round(difference / 2).
std::int64_t centred(std::int64_t size, std::int64_t window) {
  if (window > size) return -((window - size) / 2);
  return round_half_even(static_cast<double>(size - window) / 2.0);
}

/// torchvision's Resize(int): the short side becomes `target`, the long one is cut to an integer.
void resize_short_side(int width, int height, std::int64_t target, Placement& placement) {
  const int short_side = std::min(width, height);
  const int long_side = std::max(width, height);
  const auto scaled = static_cast<std::int64_t>(static_cast<double>(target * long_side) /
                                                static_cast<double>(short_side));
  placement.resized_width = width <= height ? target : scaled;
  placement.resized_height = width <= height ? scaled : target;
}

/// timm's ResizeKeepRatio without its random parts: `longest` 0 fits the short side, 1 the long.
void resize_keeping_ratio(int width, int height, double target_width, double target_height,
                          double longest, Placement& placement) {
  const double ratio_height = height / target_height;
  const double ratio_width = width / target_width;
  const double ratio = std::max(ratio_height, ratio_width) * longest +
                       std::min(ratio_height, ratio_width) * (1.0 - longest);
  placement.resized_width = round_half_even(width / ratio);
  placement.resized_height = round_half_even(height / ratio);
}

std::uint8_t fill_of(double mean) {
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(255.0 * mean), 0.0, 255.0));
}

void check(int width, int height, const Transform& transform) {
  if (width < 1 || height < 1) {
    fail(ErrorKind::bad_input, "an image of {} × {} pixels cannot be resized", width, height);
  }
  if (const std::string problem = problem_of(transform); !problem.empty()) {
    fail(ErrorKind::bad_input, "{}", problem);
  }
}

}  // namespace

Placement place(int width, int height, const Transform& transform) {
  check(width, height, transform);
  const double scaled_height = std::floor(transform.input_height / transform.crop_pct);
  const double scaled_width = std::floor(transform.input_width / transform.crop_pct);
  if (scaled_height < 1 || scaled_width < 1) {
    fail(ErrorKind::bad_input, "an input of {} × {} at a crop_pct of {} leaves no pixels",
         transform.input_height, transform.input_width, transform.crop_pct);
  }
  Placement placement;
  switch (transform.crop_mode) {
    case CropMode::squash:
      placement.resized_width = static_cast<std::int64_t>(scaled_width);
      placement.resized_height = static_cast<std::int64_t>(scaled_height);
      break;
    case CropMode::border:
      resize_keeping_ratio(width, height, scaled_width, scaled_height, 1.0, placement);
      std::ranges::transform(transform.mean, placement.fill.begin(), fill_of);
      break;
    case CropMode::center:
      if (scaled_width == scaled_height) {
        resize_short_side(width, height, static_cast<std::int64_t>(scaled_width), placement);
      } else {
        resize_keeping_ratio(width, height, scaled_width, scaled_height, 0.0, placement);
      }
      break;
  }
  if (placement.resized_width < 1 || placement.resized_height < 1) {
    fail(ErrorKind::bad_input, "an image of {} × {} pixels has no pixels left at {} × {}", width,
         height, placement.resized_width, placement.resized_height);
  }
  if (std::max(placement.resized_width, placement.resized_height) > kLongestSide) {
    fail(ErrorKind::bad_input, "an image of {} × {} pixels is too long: it would become {} × {}",
         width, height, placement.resized_width, placement.resized_height);
  }
  placement.left = centred(placement.resized_width, transform.input_width);
  placement.top = centred(placement.resized_height, transform.input_height);
  return placement;
}

}  // namespace assay::image
