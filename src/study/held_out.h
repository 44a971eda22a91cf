#pragma once
/// The logits of every variant over all held-out images: each image is read once, whatever the
/// number of variants.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "study/images.h"

namespace assay::study {

/// Logits so far, and where they are kept. A folder holds one file a variant, of fp32 numbers as
/// they lie in memory, and one of labels, each replaced as a whole: stopped at any time, what is
/// there is what was there at some moment.
class HeldOutLogits {
 public:
  /// Takes what `folder` has for `variants`: the whole images that all of them have. Without a
  /// folder nothing is kept.
  HeldOutLogits(std::filesystem::path folder, std::vector<std::string> variants,
                std::size_t classes);

  /// Images that every variant has run.
  [[nodiscard]] std::size_t images() const { return labels_.size(); }
  [[nodiscard]] std::span<const float> logits(std::size_t variant) const;
  [[nodiscard]] std::span<const float> logits(const std::string& variant) const;
  [[nodiscard]] std::span<const int> labels() const { return labels_; }
  [[nodiscard]] std::size_t classes() const { return classes_; }

  void add(std::span<const std::vector<float>> logits, std::span<const int> labels);
  void save() const;

 private:
  std::filesystem::path folder_;
  std::vector<std::string> variants_;
  std::size_t classes_;
  std::vector<std::vector<float>> logits_;
  std::vector<int> labels_;
};

/// Runs what is left of `positions` through all classifiers, one after another for each group of
/// images, saving now and then and at the end. `tick` is called with the images of each group
/// done; what it throws ends the run, after saving.
void run_held_out(const DataSource& source, std::span<const std::uint64_t> positions,
                  std::span<const Classifier> classifiers, int threads, HeldOutLogits& logits,
                  const std::function<void(std::size_t images)>& tick);

}  // namespace assay::study
