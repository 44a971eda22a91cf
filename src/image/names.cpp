#include <array>
#include <utility>

#include "base/error.h"
#include "image/image.h"

namespace assay::image {
namespace {

constexpr std::array kInterpolations{
    std::pair{Interpolation::nearest, std::string_view("nearest")},
    std::pair{Interpolation::box, std::string_view("box")},
    std::pair{Interpolation::bilinear, std::string_view("bilinear")},
    std::pair{Interpolation::bicubic, std::string_view("bicubic")},
    std::pair{Interpolation::lanczos, std::string_view("lanczos")},
};

constexpr std::array kCropModes{
    std::pair{CropMode::center, std::string_view("center")},
    std::pair{CropMode::squash, std::string_view("squash")},
    std::pair{CropMode::border, std::string_view("border")},
};

template <typename Table, typename Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [entry, text] : table) {
    if (entry == value) return text;
  }
  fail(ErrorKind::internal, "a value of {} has no name", static_cast<int>(value));
}

template <typename Table>
auto value_in(const Table& table, std::string_view name, std::string_view kind) {
  std::string known;
  for (const auto& [entry, text] : table) {
    if (text == name) return entry;
    known += known.empty() ? "" : ", ";
    known += text;
  }
  fail(ErrorKind::unsupported, "unknown {} \"{}\"; there are: {}", kind, name, known);
}

}  // namespace

std::string_view name(Interpolation interpolation) {
  return name_in(kInterpolations, interpolation);
}
std::string_view name(CropMode mode) { return name_in(kCropModes, mode); }

Interpolation interpolation_from_name(std::string_view name) {
  return value_in(kInterpolations, name, "interpolation");
}

CropMode crop_mode_from_name(std::string_view name) {
  return value_in(kCropModes, name, "crop mode");
}

}  // namespace assay::image
