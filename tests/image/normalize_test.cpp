#include <bit>

#include "assay/error.h"
#include "golden.h"

namespace assay::image {
namespace {

/// Every sample value in every channel, 16 × 16.
Image ramp() {
  Image image{.width = 16, .height = 16, .pixels = {}};
  for (int v = 0; v < 256; ++v) image.pixels.insert(image.pixels.end(), 3, static_cast<uint8_t>(v));
  return image;
}

TEST(Normalize, IsWhatTorchGives) {
  for (const Json& entry : golden("normalize.json")) {
    Transform transform;
    for (std::size_t c = 0; c < 3; ++c) {
      transform.mean.at(c) = entry["mean"][c];
      transform.std.at(c) = entry["std"][c];
    }
    std::vector<float> chw(768);
    normalize_chw(ramp(), transform, chw);
    const auto bytes = std::as_bytes(std::span(chw));
    EXPECT_EQ(hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}),
              entry["chw"].get<std::string>());
    std::vector<float> hwc(768);
    normalize_hwc(ramp(), transform, hwc);
    for (std::size_t i = 0; i < 768; ++i) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(hwc[i]),
                std::bit_cast<std::uint32_t>(chw[i % 3 * 256 + i / 3]));
    }
  }
}

TEST(Normalize, RefusesAZeroStdAndOtherSizes) {
  std::vector<float> out(768);
  Transform transform;
  EXPECT_THROW(normalize_hwc(ramp(), transform, std::span(out).first(767)), Error);
  transform.std[1] = 1e-60;  // zero once it is a float
  EXPECT_THROW(normalize_hwc(ramp(), transform, out), Error);
  EXPECT_THROW(normalize_chw(ramp(), transform, out), Error);
}

}  // namespace
}  // namespace assay::image
