#pragma once
/// Images to measure with, where the user gives none.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/image.h"

namespace assay::cli {

/// Uniformly random pixels, the same for the same seed on every machine. Never zeros: those would
/// let a kernel or the processor take paths that no photo takes.
image::Image random_image(int width, int height, std::uint32_t seed);

/// A stand-in for a photo: a 500 × 375 JPEG (quality 90, 4:2:0) of smooth random colour with some
/// grain, so that it costs a decoder about what a photo of that size does. Throws internal where
/// libjpeg fails.
std::vector<std::byte> sample_photo(std::uint32_t seed);

}  // namespace assay::cli
