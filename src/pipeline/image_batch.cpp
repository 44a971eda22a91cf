#include "pipeline/image_batch.h"

#include <algorithm>

#include "pipeline/classifier.h"
#include "pipeline/preprocess.h"

namespace assay::pipeline {
namespace {

std::size_t image_bytes(const ModelInfo& info) {
  return static_cast<std::size_t>(info.input_height) * static_cast<std::size_t>(info.input_width) *
         3;
}

template <typename T>
std::span<T> part(std::span<T> all, int i, int size) {
  return all.subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(size),
                     static_cast<std::size_t>(size));
}

}  // namespace

ImageBatch::ImageBatch(Classifier classifier, int capacity)
    : classifier_(std::move(classifier)), capacity_(capacity) {
  const ModelInfo& info = classifier_.info();
  const auto images = static_cast<std::size_t>(capacity);
  rgb_.resize(images * image_bytes(info));
  logits_.resize(images * static_cast<std::size_t>(info.classes));
  features_.resize(images * static_cast<std::size_t>(info.features));
}

void ImageBatch::add(std::span<const std::byte> file, std::string_view what) {
  const Classifier::State& state = classifier_.state();
  const image::Image decoded = image::decode(file, what, state.decode);
  const image::Image resized = resize_and_crop(decoded, what, state.bundle.transform);
  std::ranges::copy(
      resized.pixels,
      part<std::uint8_t>(rgb_, size_, static_cast<int>(resized.pixels.size())).begin());
  ++size_;
}

void ImageBatch::run() {
  const auto images = static_cast<std::size_t>(size_);
  const auto first = [images, this](auto& all) {
    return std::span(all).first(images * (all.size() / static_cast<std::size_t>(capacity_)));
  };
  classifier_.run_rgb(first(rgb_), size_, first(logits_), first(features_));
}

std::span<const float> ImageBatch::logits(int i) const {
  return part<const float>(logits_, i, classifier_.info().classes);
}

std::span<const float> ImageBatch::features(int i) const {
  return part<const float>(features_, i, classifier_.info().features);
}

}  // namespace assay::pipeline
