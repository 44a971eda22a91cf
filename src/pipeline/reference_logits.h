#pragma once
/// Logits that another implementation gave for the same images.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace assay::pipeline {

/// "logits" [N, classes] of a safetensors file, and "labels" [N] where it has them.
class ReferenceLogits {
 public:
  /// Throws as checkpoint::read_safetensors, and bad_input where the tensors are missing or have
  /// another shape.
  ReferenceLogits(const std::filesystem::path& file, int classes);

  [[nodiscard]] std::uint64_t size() const { return logits_.size() / classes_; }
  /// The logits of image `index`. Throws bad_input where there is no such row.
  [[nodiscard]] std::span<const float> row(std::uint64_t index) const;
  /// Throws bad_input where the file's label of image `index` is not `label`: then the reference
  /// was made from other images, or in another order.
  void check_label(std::uint64_t index, int label) const;
  /// Throws bad_input where the dataset has another number of images.
  void check_size(std::optional<std::uint64_t> dataset) const;

 private:
  std::filesystem::path file_;
  std::size_t classes_;
  std::vector<float> logits_;
  std::vector<std::int64_t> labels_;
};

}  // namespace assay::pipeline
