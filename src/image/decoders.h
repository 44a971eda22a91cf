#pragma once
/// The decoders behind decode(), one a file format, and what they share.
#include <optional>

#include "image/image.h"

namespace assay::image {

using Bytes = std::span<const std::byte>;

/// What a decoder found beside the pixels; only looked for where rotation was asked for.
struct Metadata {
  std::vector<std::byte> exif;  ///< a TIFF stream, perhaps after "Exif\0\0"
  std::string xmp;
};

/// One file to decode, and where its pixels and metadata go.
struct DecodeJob {
  Bytes file;
  std::string_view what;
  const DecodeOptions& options;
  Image& image;
  Metadata metadata;
};

void decode_jpeg(DecodeJob& job);
void decode_png(DecodeJob& job);
void decode_webp(DecodeJob& job);

/// Checks the size that a header states against the options' limits. Throws bad_input.
void check_size(const DecodeJob& job, std::uint64_t width, std::uint64_t height);

/// The same, then gives job.image that size. Nothing has been allocated for the pixels before.
void allocate_pixels(DecodeJob& job, std::uint64_t width, std::uint64_t height);

/// The EXIF orientation, 1 to 8, as PIL's getexif() finds it: EXIF first, then XMP; 1 where there
/// is none. Throws bad_input where the EXIF data is not TIFF.
int orientation(const Metadata& metadata, std::string_view what);

/// `image` as PIL.ImageOps.exif_transpose turns it for `orientation` (1 leaves it alone).
void apply_orientation(Image& image, int orientation);

}  // namespace assay::image
