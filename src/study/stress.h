#pragma once
/// Made inputs that no photo resembles: what a network must answer with finite numbers all the
/// same.
#include <string>
#include <vector>

#include "image/image.h"

namespace assay::study {

/// A normalized tensor, H × W × 3, under a name.
struct StressTensor {
  std::string name;
  std::vector<float> numbers;
};

/// The names of all of them; each differs from the others.
std::vector<std::string> stress_names();

/// The one at `index` of stress_names() for inputs of the transform's size. The same numbers on
/// every machine. Some are pictures (black, white, saturated, checkerboards, stripes, impulses,
/// noise) after the transform's normalization; some are tensors of one number, Gaussian noise at
/// several scales, and pixels out of range, to 10,000.
StressTensor stress_input(std::size_t index, const image::Transform& transform);

}  // namespace assay::study
