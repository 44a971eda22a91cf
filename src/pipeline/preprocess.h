#pragma once
/// What the network will see, stage by stage, for people who hunt a mismatch.
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "image/image.h"

namespace assay::pipeline {

enum class Stage {
  decoded,  ///< uint8 [H, W, 3], the file's own size
  resized,  ///< uint8 [input height, input width, 3], after resize and crop
  tensor,   ///< float32 [3, input height, input width], normalized
};

std::string_view name(Stage stage);
/// Throws bad_input, listing the names there are.
Stage stage_from_name(std::string_view name);

struct Preprocessed {
  Stage stage = Stage::decoded;
  image::Image image;         ///< at `decoded` and `resized`; at `tensor` only its size is set
  std::vector<float> tensor;  ///< at `tensor`, CHW
};

/// Takes an encoded file's bytes to `stage`; `what` names it in messages. Throws as image::decode.
Preprocessed preprocess(std::span<const std::byte> file, std::string_view what,
                        const image::Transform& transform, const image::DecodeOptions& options,
                        Stage stage);

/// Resized and cropped to what the network takes. Throws as image::resize_and_crop, with `what` in
/// front.
image::Image resize_and_crop(const image::Image& image, std::string_view what,
                             const image::Transform& transform);

/// [H, W, 3] to [3, H, W], and back; both spans hold `pixels` × 3 numbers.
void hwc_to_chw(std::span<const float> hwc, std::span<float> chw, std::size_t pixels);
void chw_to_hwc(std::span<const float> chw, std::span<float> hwc, std::size_t pixels);

}  // namespace assay::pipeline
