#pragma once
/// Runs a classifier over a dataset and says how well it did, alone and against reference logits.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "pipeline/dataset.h"

namespace assay::pipeline {

struct EvalOptions {
  /// safetensors with "logits" [N, classes] and, optionally, "labels" [N]; row i belongs to the
  /// sample whose index in the full dataset is i.
  std::optional<std::filesystem::path> reference;
  int batch = 0;    ///< images a call; 0: the classifier's max_batch
  int threads = 0;  ///< that decode and resize; 0: available_cores()
  bool exif_rotate = false;
  /// Called after each batch with the samples done and how many there will be, where known.
  std::function<void(std::uint64_t done, std::optional<std::uint64_t> total)> progress;
};

/// An image that could not be read or decoded; it counts in nothing else.
struct FailedImage {
  std::string name;
  std::string message;
};

/// Against reference logits, over the images that were run.
struct ReferenceReport {
  double agreement = 0;     ///< share of images with the reference's top-1
  double max_abs_diff = 0;  ///< over all logits; infinite where just one of the two is not finite
  double mean_abs_diff = 0;
  std::uint64_t agreeing = 0;
  /// Images with another top-1 although the reference's margin (best logit less second best) is
  /// above twice max_abs_diff.
  std::uint64_t decided_disagreements = 0;
};

struct EvalReport {
  std::uint64_t images = 0;  ///< that were run
  std::uint64_t top1_correct = 0;
  std::uint64_t top5_correct = 0;
  std::uint64_t nonfinite = 0;  ///< images with a logit that is not finite; never counted as right
  std::vector<FailedImage> failed;
  std::optional<ReferenceReport> reference;
  /// Shares of `images`; 0 where there are none.
  [[nodiscard]] double top1() const;
  [[nodiscard]] double top5() const;
};

/// Evaluates every sample of `dataset`. The report does not depend on threads or batch beyond what
/// the backend's logits do. Throws bad_input where the reference does not fit the classifier or the
/// dataset, and whatever Dataset::next throws.
EvalReport evaluate(const Classifier& classifier, Dataset& dataset, const EvalOptions& options);

}  // namespace assay::pipeline
