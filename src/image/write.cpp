#include "image/write.h"

#include <png.h>

#include <bit>

#include "base/error.h"
#include "base/file.h"

namespace assay::image {
namespace {

void check(const std::string& what, const Image& image) {
  const bool whole = image.width >= 1 && image.height >= 1 &&
                     image.pixels.size() == static_cast<std::size_t>(image.width) *
                                                static_cast<std::size_t>(image.height) * 3;
  if (!whole) {
    fail(ErrorKind::bad_input, "{}: an image of {} × {} pixels with {} bytes cannot be written",
         what, image.width, image.height, image.pixels.size());
  }
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> head,
                std::span<const std::byte> body = {}) {
  AtomicFile file(path);
  file.write(head);
  if (!body.empty()) file.write(body);
  file.commit();
}

/// NumPy's format, version 1.0 (numpy/lib/format.py documents it): magic, version, the length of a
/// Python dictionary in 16 bits, and the dictionary, padded so that the data begins at a multiple
/// of 64 bytes.
std::string npy_header(std::string_view type, std::string_view shape) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  constexpr std::size_t kPrefix = 10;
  dictionary.append(63 - (kPrefix + dictionary.size()) % 64, ' ');
  dictionary += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

std::vector<std::byte> png_bytes(const std::string& what, const Image& image) {
  check(what, image);
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<std::byte> bytes(size);
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) ==
      0) {
    fail(ErrorKind::internal, "{}: libpng cannot write the image: {}", what,
         static_cast<const char*>(header.message));
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::vector<std::byte> encode_png(const Image& image) { return png_bytes("a PNG", image); }

void write_png(const std::filesystem::path& file, const Image& image) {
  write_file(file, png_bytes(file.string(), image));
}

void write_npy(const std::filesystem::path& file, const Image& image) {
  check(file.string(), image);
  const std::string header = npy_header("|u1", fmt::format("{}, {}, 3", image.height, image.width));
  write_file(file, std::as_bytes(std::span(header)), std::as_bytes(std::span(image.pixels)));
}

void write_npy(const std::filesystem::path& file, std::span<const float> values, int channels,
               int height, int width) {
  if (channels < 1 || height < 1 || width < 1 ||
      values.size() != static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
                           static_cast<std::size_t>(width)) {
    fail(ErrorKind::bad_input, "{}: {} numbers are not an array of {} × {} × {}", file.string(),
         values.size(), channels, height, width);
  }
  static_assert(std::endian::native == std::endian::little, "the header says little-endian");
  const std::string header = npy_header("<f4", fmt::format("{}, {}, {}", channels, height, width));
  write_file(file, std::as_bytes(std::span(header)), std::as_bytes(values));
}

}  // namespace assay::image
