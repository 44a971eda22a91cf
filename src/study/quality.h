#pragma once
/// How good a variant's logits are: against the labels, and against the reference's.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "study/schema.h"

namespace assay::study {

/// Logits of the held-out images, count × classes, and what they are compared with.
struct Compared {
  std::span<const float> variant;
  std::span<const float> reference;
  std::span<const float> fp16;  ///< of the fp16 variant; empty where there is none
  std::span<const int> labels;
  std::size_t classes = 0;
};

/// Throws bad_input for sizes that do not fit and reference logits that are not finite.
Quality quality(const Compared& logits);

/// Images with a logit that is not finite.
std::uint64_t nonfinite_images(std::span<const float> logits, std::size_t classes);

/// The share of images whose best class is the label's, with its interval.
Estimate top1(std::span<const float> logits, std::span<const int> labels, std::size_t classes);

/// Images whose best class is not the reference's, or whose logits are not finite: those that do
/// not agree.
struct Changes {
  std::vector<ChangedImage> worst;  ///< by the reference's margin, largest first; no thumbnails yet
  std::uint64_t count = 0;          ///< of all
};
/// `positions` are the images' in the data set; at most `most` are listed.
Changes changes(const Compared& logits, std::span<const std::uint64_t> positions, std::size_t most);

}  // namespace assay::study
