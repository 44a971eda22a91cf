#pragma once
/// Encoded images taken through the network several a call.
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "assay/assay.h"

namespace assay::pipeline {

/// Decodes, resizes and crops images one by one, then runs them in one call. For one thread.
class ImageBatch {
 public:
  /// Up to `capacity` images a call, no more than the classifier's largest batch.
  ImageBatch(Classifier classifier, int capacity);

  /// Takes one more image, an encoded file's bytes; not when full(). Throws as image::decode, and
  /// then the batch is as it was.
  void add(std::span<const std::byte> file, std::string_view what);
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool full() const { return size_ == capacity_; }

  /// Runs the images that were added.
  void run();
  /// Of image `i` after run().
  [[nodiscard]] std::span<const float> logits(int i) const;
  [[nodiscard]] std::span<const float> features(int i) const;
  /// Drops the images, for the next call.
  void clear() { size_ = 0; }

 private:
  Classifier classifier_;
  int capacity_;
  int size_ = 0;
  std::vector<std::uint8_t> rgb_;
  std::vector<float> logits_;
  std::vector<float> features_;
};

}  // namespace assay::pipeline
