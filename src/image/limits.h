#pragma once
/// Which transforms may be asked for at all: one set of bounds for configurations, bundles and
/// calls.
#include <string>

#include "image/image.h"

namespace assay::image {

/// What is wrong with `transform`, in words, or "": an input size outside 1 to kMaxInputSide, a
/// crop_pct outside 0.01 to 100 (a tiny share would have images resized to huge ones before they
/// are cropped), a std that is not above zero, a mean and std by which pixels do not stay finite in
/// fp32.
std::string problem_of(const Transform& transform);

}  // namespace assay::image
