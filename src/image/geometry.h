#pragma once
/// timm's evaluation transform reduced to numbers: which size to resize to, and which window of it
/// is the answer.
#include "image/image.h"

namespace assay::image {

/// The resized image's size, and the window of transform.input_height × input_width in it. The
/// window may begin before the resized image and end after it: what lies outside is `fill`.
struct Placement {
  std::int64_t resized_width = 0;
  std::int64_t resized_height = 0;
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::array<std::uint8_t, 3> fill{};
};

/// Sources: timm/data/transforms_factory.py (transforms_imagenet_eval), timm/data/transforms.py
/// (ResizeKeepRatio, CenterCropOrPad), torchvision's Resize and CenterCrop.
/// Throws bad_input for an image size below 1, a transform that problem_of() refuses, and a resized
/// image without pixels or longer than PIL allows.
Placement place(int width, int height, const Transform& transform);

}  // namespace assay::image
