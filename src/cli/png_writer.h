#pragma once
/// Pictures as PNG files.
#include <cstddef>
#include <vector>

#include "image/image.h"

namespace assay::cli {

/// `image` as an 8-bit RGB PNG file's bytes. Throws internal where libpng fails.
std::vector<std::byte> encode_png(const image::Image& image);

}  // namespace assay::cli
