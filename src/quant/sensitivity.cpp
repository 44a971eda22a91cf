#include "quant/sensitivity.h"

#include <algorithm>

namespace assay::quant {
namespace {

bool is_coded(const LayerDecision& decision) {
  return decision.precision == graph::Precision::int8 ||
         decision.precision == graph::Precision::fp8 ||
         decision.precision == graph::Precision::nvfp4;
}

}  // namespace

std::vector<LayerDecision> narrow_layers(std::span<const LayerDecision> decisions) {
  const bool any = std::ranges::any_of(decisions, is_coded);
  std::vector<LayerDecision> narrow;
  for (const LayerDecision& decision : decisions)
    if (any ? is_coded(decision) : decision.precision != graph::Precision::fp32)
      narrow.push_back(decision);
  return narrow;
}

std::size_t sensitivity_runs(const graph::Graph& wide, const Recipe& recipe,
                             const Calibration* calibration) {
  return narrow_layers(quantize(wide, recipe, calibration).layers).size();
}

std::vector<LayerError> sensitivity(const graph::Graph& wide, const Recipe& recipe,
                                    const Calibration* calibration, const ImageSet& images,
                                    std::span<const float> reference, const RunOptions& options) {
  const std::size_t classes = classes_of(wide);
  std::vector<LayerError> errors;
  for (const LayerDecision& decision : narrow_layers(quantize(wide, recipe, calibration).layers)) {
    Quantized alone = quantize(wide, only(recipe, decision.layer), calibration);
    const std::vector<float> logits = run_images(std::move(alone.graph), images, options);
    errors.push_back({decision, logit_error(reference, logits, classes)});
  }
  return errors;
}

}  // namespace assay::quant
