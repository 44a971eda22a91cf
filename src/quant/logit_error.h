#pragma once
/// How far one set of logits is from another: what a comparison of two builds of one network is
/// quoted in.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/statistics.h"

namespace assay::quant {

bool all_finite(std::span<const float> logits);

/// Of logits x against reference logits, over all images.
struct LogitError {
  /// 10 · log10(Σ ref² / Σ (ref - x)²) over all logits: infinite where all are equal, -infinite
  /// where one of x is not finite.
  double sqnr_db = 0;
  double agreement = 0;  ///< share of images with the same top-1; images not finite never agree
  /// Mean over the images of KL(softmax(ref) || softmax(x)), in nats; infinite where one is not
  /// finite.
  double kl = 0;
};

/// The same with 95% intervals: the agreement's Wilson's, the others' by a bootstrap over images.
struct LogitErrorIntervals {
  Interval sqnr_db;
  Interval agreement;
  Interval kl;
};

/// What one image adds to the sums.
struct ImageError {
  double signal = 0;  ///< Σ ref²
  double noise = 0;   ///< Σ (ref - x)²
  double kl = 0;
  bool agrees = false;
};

/// One entry an image; both spans hold images × `classes` logits. Throws bad_input for spans of
/// other sizes and for reference logits that are not finite, naming the image.
std::vector<ImageError> image_errors(std::span<const float> reference, std::span<const float> x,
                                     std::size_t classes);

/// Sums in the order of the images. Throws bad_input for no images.
LogitError summarize(std::span<const ImageError> errors);
LogitErrorIntervals intervals(std::span<const ImageError> errors);

/// summarize(image_errors()).
LogitError logit_error(std::span<const float> reference, std::span<const float> x,
                       std::size_t classes);

/// 10 · log10(signal / noise), infinite for no noise.
double decibels(double signal, double noise);

}  // namespace assay::quant
