#pragma once
/// Files that people look into when numbers differ: .png for pixels, NumPy's .npy for arrays.
/// All are written through a temporary name (see base/file.h) and throw bad_input where the system
/// refuses the write.
#include <cstddef>
#include <filesystem>
#include <vector>

#include "image/image.h"

namespace assay::image {

/// An 8-bit RGB PNG. Throws bad_input for an image whose sizes and pixels do not match.
void write_png(const std::filesystem::path& file, const Image& image);

/// The same file's bytes.
std::vector<std::byte> encode_png(const Image& image);

/// uint8, shape (height, width, 3).
void write_npy(const std::filesystem::path& file, const Image& image);

/// float32, shape (channels, height, width); `values` in that order.
void write_npy(const std::filesystem::path& file, std::span<const float> values, int channels,
               int height, int width);

}  // namespace assay::image
