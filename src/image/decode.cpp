#include <algorithm>
#include <new>

#include "base/error.h"
#include "image/decoders.h"
#include "image/geometry.h"

namespace assay::image {
namespace {

bool has_at(Bytes file, std::size_t offset, std::string_view magic) {
  if (file.size() < offset + magic.size()) return false;
  return std::ranges::equal(file.subspan(offset, magic.size()), magic,
                            [](std::byte a, char b) { return a == static_cast<std::byte>(b); });
}

/// A file type that is named when it is refused.
std::string_view other_type(Bytes file) {
  if (has_at(file, 0, "GIF8")) return "a GIF";
  if (has_at(file, 0, "BM")) return "a BMP";
  if (has_at(file, 0, "II*") || has_at(file, 0, std::string_view("MM\0*", 4))) return "a TIFF";
  if (has_at(file, 4, "ftypavif")) return "an AVIF";
  if (has_at(file, 4, "ftyphei")) return "a HEIF";
  if (has_at(file, 0, "\xFF\x0A") || has_at(file, 4, "JXL ")) return "a JPEG XL";
  if (has_at(file, 4, "jP  ")) return "a JPEG 2000";
  return "not a known image";
}

void decode_by_type(DecodeJob& job) {
  if (has_at(job.file, 0, "\xFF\xD8\xFF")) return decode_jpeg(job);
  if (has_at(job.file, 0, "\x89PNG\r\n\x1A\n")) return decode_png(job);
  if (has_at(job.file, 0, "RIFF") && has_at(job.file, 8, "WEBP")) return decode_webp(job);
  if (job.file.empty()) fail(ErrorKind::bad_input, "{}: the file is empty", job.what);
  fail(ErrorKind::unsupported, "{}: {} file; JPEG, PNG and WebP are read", job.what,
       other_type(job.file));
}

/// Why `transform` can't take an image of these sides, or nothing.
std::optional<Error> objection(int width, int height, const Transform& transform) {
  try {
    (void)place(width, height, transform);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

/// Refuses sides that the transform can't take, not even after a rotation that may be to come.
void check_placement(const DecodeJob& job, int width, int height) {
  const Transform& transform = *job.options.transform;
  const auto error = objection(width, height, transform);
  if (!error) return;
  if (job.options.apply_exif_rotation && !objection(height, width, transform)) return;
  fail(error->kind(), "{}: {}", job.what, error->what());
}

}  // namespace

void check_size(const DecodeJob& job, std::uint64_t width, std::uint64_t height) {
  constexpr std::uint64_t kLargestSide = 0x7fff'ffff;
  if (width == 0 || height == 0 || width > kLargestSide || height > kLargestSide) {
    fail(ErrorKind::bad_input, "{}: the header gives a size of {} × {} pixels", job.what, width,
         height);
  }
  if (height > job.options.max_pixels / width) {
    fail(ErrorKind::bad_input, "{}: {} × {} pixels is above the limit of {} pixels", job.what,
         width, height, job.options.max_pixels);
  }
  if (job.options.transform) {
    check_placement(job, static_cast<int>(width), static_cast<int>(height));
  }
}

void allocate_pixels(DecodeJob& job, std::uint64_t width, std::uint64_t height) {
  check_size(job, width, height);
  job.image.width = static_cast<int>(width);
  job.image.height = static_cast<int>(height);
  job.image.pixels.resize(width * height * 3);
}

void decode(Bytes file, std::string_view what, const DecodeOptions& options, Image& into) {
  DecodeJob job{.file = file, .what = what, .options = options, .image = into, .metadata = {}};
  try {
    decode_by_type(job);
    if (options.apply_exif_rotation) apply_orientation(into, orientation(job.metadata, what));
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::out_of_memory, "{}: no memory for the decoded image", what);
  }
}

Image decode(Bytes file, std::string_view what, const DecodeOptions& options) {
  Image image;
  decode(file, what, options, image);
  return image;
}

}  // namespace assay::image
