#include "quant/logit_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace assay::quant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// log Σ exp(logit), without overflow.
double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

double divergence(std::span<const float> reference, std::span<const float> x) {
  const double reference_norm = log_sum_exp(reference);
  const double norm = log_sum_exp(x);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double log_p = reference[i] - reference_norm;
    sum += std::exp(log_p) * (log_p - (x[i] - norm));
  }
  return std::max(sum, 0.0);  // rounding can take a divergence of nothing below 0
}

ImageError image_error(std::span<const float> reference, std::span<const float> x) {
  ImageError error;
  for (const float logit : reference) error.signal += static_cast<double>(logit) * logit;
  if (!all_finite(x)) {
    error.noise = kInfinity;
    error.kl = kInfinity;
    return error;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = static_cast<double>(reference[i]) - x[i];
    error.noise += apart * apart;
  }
  error.kl = divergence(reference, x);
  error.agrees = std::ranges::max_element(reference) - reference.begin() ==
                 std::ranges::max_element(x) - x.begin();
  return error;
}

}  // namespace

double decibels(double signal, double noise) {
  if (noise == 0) return kInfinity;
  if (!std::isfinite(noise)) return -kInfinity;
  return 10 * std::log10(signal / noise);
}

bool all_finite(std::span<const float> logits) {
  return std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); });
}

std::vector<ImageError> image_errors(std::span<const float> reference, std::span<const float> x,
                                     std::size_t classes) {
  if (classes == 0 || reference.size() != x.size() || x.size() % classes != 0)
    fail(ErrorKind::bad_input, "logits to compare: {} and {} numbers for {} classes",
         reference.size(), x.size(), classes);
  std::vector<ImageError> errors;
  errors.reserve(x.size() / classes);
  for (std::size_t at = 0; at < x.size(); at += classes) {
    const auto row = reference.subspan(at, classes);
    if (!all_finite(row))
      fail(ErrorKind::bad_input, "the reference logits of image {} are not finite", at / classes);
    errors.push_back(image_error(row, x.subspan(at, classes)));
  }
  return errors;
}

LogitError summarize(std::span<const ImageError> errors) {
  if (errors.empty()) fail(ErrorKind::bad_input, "no logits to compare");
  ImageError sum;
  std::uint64_t agreeing = 0;
  for (const ImageError& error : errors) {
    sum.signal += error.signal;
    sum.noise += error.noise;
    sum.kl += error.kl;
    agreeing += error.agrees ? 1 : 0;
  }
  const auto images = static_cast<double>(errors.size());
  return {decibels(sum.signal, sum.noise), static_cast<double>(agreeing) / images, sum.kl / images};
}

LogitErrorIntervals intervals(std::span<const ImageError> errors) {
  if (errors.empty()) fail(ErrorKind::bad_input, "no logits to compare");
  const auto agreeing = std::ranges::count_if(errors, &ImageError::agrees);
  LogitErrorIntervals intervals;
  intervals.agreement = wilson_interval(static_cast<std::uint64_t>(agreeing), errors.size());
  intervals.sqnr_db = bootstrap_interval(errors.size(), [&](auto drawn) {
    double signal = 0;
    double noise = 0;
    for (const std::uint32_t item : drawn) {
      signal += errors[item].signal;
      noise += errors[item].noise;
    }
    return decibels(signal, noise);
  });
  intervals.kl = bootstrap_interval(errors.size(), [&](auto drawn) {
    double sum = 0;
    for (const std::uint32_t item : drawn) sum += errors[item].kl;
    return sum / static_cast<double>(drawn.size());
  });
  return intervals;
}

LogitError logit_error(std::span<const float> reference, std::span<const float> x,
                       std::size_t classes) {
  return summarize(image_errors(reference, x, classes));
}

}  // namespace assay::quant
