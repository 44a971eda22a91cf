#include "cli/png_writer.h"

#include <png.h>

#include "base/error.h"

namespace assay::cli {

std::vector<std::byte> encode_png(const image::Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  const auto write = [&](void* memory) {
    return png_image_write_to_memory(&png, memory, &size, 0, image.pixels.data(), 0, nullptr) != 0;
  };
  std::vector<std::byte> bytes;
  bool written = write(nullptr);  // the size first
  if (written) {
    bytes.resize(size);
    written = write(bytes.data());
  }
  if (!written) fail(ErrorKind::internal, "the PNG could not be made: {}", png.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace assay::cli
