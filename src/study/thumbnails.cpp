#include "study/thumbnails.h"

#include <algorithm>
#include <set>

#include "image/write.h"

namespace assay::study {
namespace {

/// RFC 4648, section 4.
std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= count ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string thumbnail(const image::Image& image) {
  const int longest = std::max(image.width, image.height);
  const auto side = [&](int length) { return std::max(1, length * kThumbnailSide / longest); };
  const image::Image small =
      longest <= kThumbnailSide
          ? image
          : image::resize(image, side(image.width), side(image.height), image::Interpolation::box);
  return "data:image/png;base64," + base64(image::encode_png(small));
}

std::map<std::uint64_t, std::string> thumbnails(const DataSource& source,
                                                std::span<const std::uint64_t> positions) {
  const std::set<std::uint64_t> unique(positions.begin(), positions.end());
  const std::vector<std::uint64_t> ordered(unique.begin(), unique.end());
  std::map<std::uint64_t, std::string> made;
  if (ordered.empty()) return made;
  for (const pipeline::Sample& sample : load_samples(source, ordered))
    made[sample.index] = thumbnail(pipeline::load(sample, {.transform = source.transform}));
  return made;
}

}  // namespace assay::study
