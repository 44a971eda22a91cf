#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "image/decoders.h"

namespace assay::image {
namespace {

constexpr std::uint16_t kOrientationTag = 0x0112;

/// A TIFF stream's integers; reading past the end gives nothing.
class TiffReader {
 public:
  TiffReader(Bytes bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  [[nodiscard]] std::optional<std::uint32_t> integer(std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = big_endian_ ? offset + i : offset + size - 1 - i;
      value = value << 8 | std::to_integer<std::uint32_t>(bytes_[at]);
    }
    return value;
  }

 private:
  Bytes bytes_;
  bool big_endian_;
};

bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

/// Bytes that an integer of this TIFF field type takes; 0 for types that are not integers.
std::size_t integer_size(std::uint32_t type) {
  switch (type) {
    case 1:
    case 6:
      return 1;
    case 3:
    case 8:
      return 2;
    case 4:
    case 9:
      return 4;
    default:
      return 0;
  }
}

/// The orientation entry of the first directory (TIFF 6.0, section 2: an entry is tag, type, count
/// and four bytes of value).
std::optional<std::uint32_t> exif_orientation(Bytes exif, std::string_view what) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  for (int i = 0; i < 2 && starts_with(exif, kPrefix); ++i) exif = exif.subspan(kPrefix.size());
  if (exif.empty()) return std::nullopt;
  const bool big_endian = starts_with(exif, std::string_view("MM\0*", 4));
  if (!big_endian && !starts_with(exif, std::string_view("II*\0", 4))) {
    fail(ErrorKind::bad_input, "{}: its EXIF data is not TIFF, so its orientation is not known",
         what);
  }
  const TiffReader tiff(exif, big_endian);
  const auto directory = tiff.integer(4, 4);
  if (!directory) return std::nullopt;
  const std::uint32_t entries = tiff.integer(*directory, 2).value_or(0);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = std::size_t{*directory} + 2 + std::size_t{i} * 12;
    if (tiff.integer(entry, 2) != kOrientationTag) continue;
    const std::size_t size = integer_size(tiff.integer(entry + 2, 2).value_or(0));
    if (size == 0 || tiff.integer(entry + 4, 4) != 1U) return std::nullopt;
    return tiff.integer(entry + 8, size);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> xmp_orientation(std::string_view xmp) {
  for (std::size_t at = 0; (at = xmp.find("tiff:Orientation", at)) != std::string_view::npos;
       ++at) {
    std::string_view rest = xmp.substr(at + 16);
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
      return static_cast<std::uint32_t>(rest[0] - '0');
    }
  }
  return std::nullopt;
}

/// Where each output pixel comes from: source x and y are each an output coordinate, perhaps
/// counted from the far side.
struct Turn {
  bool swap_axes = false;
  bool flip_x = false;  ///< of the source
  bool flip_y = false;
};

/// By EXIF 2.3's table of orientations: where row 0 and column 0 of the stored picture belong.
constexpr std::array<Turn, 9> kTurns{
    Turn{},                                                   // not a value
    Turn{},                                                   // 1
    Turn{.flip_x = true},                                     // 2: mirrored
    Turn{.flip_x = true, .flip_y = true},                     // 3: half a turn
    Turn{.flip_y = true},                                     // 4: upside down
    Turn{.swap_axes = true},                                  // 5: transposed
    Turn{.swap_axes = true, .flip_y = true},                  // 6: a quarter turn clockwise
    Turn{.swap_axes = true, .flip_x = true, .flip_y = true},  // 7: transposed on the other diagonal
    Turn{.swap_axes = true, .flip_x = true},                  // 8: a quarter turn back
};

}  // namespace

int orientation(const Metadata& metadata, std::string_view what) {
  auto found = exif_orientation(metadata.exif, what);
  if (!found) found = xmp_orientation(metadata.xmp);
  const std::uint32_t value = found.value_or(1);
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

void apply_orientation(Image& image, int orientation) {
  if (orientation <= 1 || orientation > 8) return;
  const Turn turn = kTurns.at(static_cast<std::size_t>(orientation));
  const int width = turn.swap_axes ? image.height : image.width;
  const int height = turn.swap_axes ? image.width : image.height;
  std::vector<std::uint8_t> turned(image.pixels.size());
  std::uint8_t* out = turned.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x, out += 3) {
      int from_x = turn.swap_axes ? y : x;
      int from_y = turn.swap_axes ? x : y;
      if (turn.flip_x) from_x = image.width - 1 - from_x;
      if (turn.flip_y) from_y = image.height - 1 - from_y;
      const std::size_t from =
          (static_cast<std::size_t>(from_y) * static_cast<std::size_t>(image.width) +
           static_cast<std::size_t>(from_x)) *
          3;
      std::memcpy(out, image.pixels.data() + from, 3);
    }
  }
  image.width = width;
  image.height = height;
  image.pixels = std::move(turned);
}

}  // namespace assay::image
