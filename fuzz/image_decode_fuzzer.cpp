/// Any bytes as an image file: an Error, or an image whose pixels match its size.
#include "assay/error.h"
#include "image/image.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using assay::fuzz::require;
  constexpr std::uint64_t kMostPixels = 1 << 18;
  const auto file = std::as_bytes(std::span(data, size));
  for (const bool rotate : {false, true}) {
    try {
      const auto image = assay::image::decode(
          file, "input", {.apply_exif_rotation = rotate, .max_pixels = kMostPixels});
      require(image.width >= 1 && image.height >= 1, "the image has a size");
      const std::size_t area =
          static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
      require(area <= kMostPixels, "the limit holds");
      require(image.pixels.size() == area * 3, "the pixels are width × height × 3 bytes");
    } catch (const assay::Error&) {
    }
  }
  return 0;
}
