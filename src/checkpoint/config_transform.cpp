#include <algorithm>

#include "base/error.h"
#include "checkpoint/config_parts.h"
#include "image/limits.h"

namespace assay::checkpoint {
namespace {

void read_input_size(const Fields& pretrained, image::Transform& transform) {
  if (pretrained.find("input_size") == nullptr) {
    return;
  }
  const std::vector<std::int64_t> size = pretrained.integers("input_size", 1, image::kMaxInputSide);
  if (size.size() != 3) {
    pretrained.refuse("input_size", "[channels, height, width]");
  }
  if (size[0] != 3) {
    fail(ErrorKind::unsupported, "{} has {} channels; only networks of 3 (RGB) are supported",
         pretrained.place("input_size"), size[0]);
  }
  transform.input_height = static_cast<int>(size[1]);
  transform.input_width = static_cast<int>(size[2]);
}

void read_channels(const Fields& pretrained, std::string_view key, std::array<double, 3>& out) {
  if (pretrained.find(key) == nullptr) {
    return;
  }
  const std::vector<double> values = pretrained.numbers(key);
  if (values.size() != out.size()) {
    pretrained.refuse(key, "3 numbers, one a channel");
  }
  std::copy(values.begin(), values.end(), out.begin());
}

/// Calls `lookup` and says where the name stands if it is not known.
template <typename Lookup>
auto named(const Fields& pretrained, std::string_view key, Lookup lookup) {
  try {
    return lookup(pretrained.text(key, ""));
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", pretrained.place(key), error.what()));
  }
}

}  // namespace

image::Transform transform_from(const Fields& pretrained) {
  image::Transform transform;
  read_input_size(pretrained, transform);
  if (pretrained.find("interpolation") != nullptr) {
    transform.interpolation = named(pretrained, "interpolation", image::interpolation_from_name);
  }
  if (pretrained.find("crop_mode") != nullptr) {
    transform.crop_mode = named(pretrained, "crop_mode", image::crop_mode_from_name);
  }
  transform.crop_pct = pretrained.number("crop_pct", transform.crop_pct);
  read_channels(pretrained, "mean", transform.mean);
  read_channels(pretrained, "std", transform.std);
  return transform;
}

}  // namespace assay::checkpoint
