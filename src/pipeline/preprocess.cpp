#include "pipeline/preprocess.h"

#include "base/error.h"

namespace assay::pipeline {

std::string_view name(Stage stage) {
  switch (stage) {
    case Stage::decoded:
      return "decoded";
    case Stage::resized:
      return "resized";
    case Stage::tensor:
      return "tensor";
  }
  fail(ErrorKind::internal, "stage {}", static_cast<int>(stage));
}

Stage stage_from_name(std::string_view text) {
  for (const Stage stage : {Stage::decoded, Stage::resized, Stage::tensor})
    if (name(stage) == text) return stage;
  fail(ErrorKind::bad_input, "stage \"{}\": expected decoded, resized or tensor", text);
}

Preprocessed preprocess(std::span<const std::byte> file, std::string_view what,
                        const image::Transform& transform, const image::DecodeOptions& options,
                        Stage stage) {
  Preprocessed result;
  result.stage = stage;
  image::DecodeOptions decoding = options;
  if (stage != Stage::decoded) decoding.transform = transform;
  result.image = image::decode(file, what, decoding);
  if (stage == Stage::decoded) return result;
  result.image = resize_and_crop(result.image, what, transform);
  if (stage == Stage::resized) return result;
  std::vector<float> hwc(result.image.pixels.size());
  image::normalize_hwc(result.image, transform, hwc);
  result.tensor.resize(hwc.size());
  hwc_to_chw(hwc, result.tensor, hwc.size() / 3);
  result.image.pixels.clear();
  return result;
}

image::Image resize_and_crop(const image::Image& image, std::string_view what,
                             const image::Transform& transform) {
  try {
    return image::resize_and_crop(image, transform);
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", what, error.what());
  }
}

void hwc_to_chw(std::span<const float> hwc, std::span<float> chw, std::size_t pixels) {
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::size_t channel = 0; channel < 3; ++channel)
      chw[channel * pixels + i] = hwc[i * 3 + channel];
}

void chw_to_hwc(std::span<const float> chw, std::span<float> hwc, std::size_t pixels) {
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::size_t channel = 0; channel < 3; ++channel)
      hwc[i * 3 + channel] = chw[channel * pixels + i];
}

}  // namespace assay::pipeline
