#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "image/image.h"
#include "study/images.h"

namespace assay::study {

/// Longest side of a thumbnail, in pixels; smaller images keep their size.
inline constexpr int kThumbnailSide = 64;

/// The image as "data:image/png;base64,...".
std::string thumbnail(const image::Image& image);

/// Thumbnails of the images at `positions` (in any order, repeated or not), by position.
std::map<std::uint64_t, std::string> thumbnails(const DataSource& source,
                                                std::span<const std::uint64_t> positions);

}  // namespace assay::study
