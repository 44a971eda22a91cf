#pragma once
/// What each layer's rounding alone does to the logits.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/calibration.h"
#include "quant/logit_error.h"
#include "quant/quantize.h"
#include "quant/recipe.h"
#include "quant/run_images.h"

namespace assay::quant {

/// One layer narrow, every other at fp32.
struct LayerError {
  LayerDecision decision;  ///< the layer, and what the recipe makes of it
  LogitError error;
};

/// The decisions of `recipe` that are narrow: below 16 bits a weight; where it has none of those,
/// all that are not fp32.
std::vector<LayerDecision> narrow_layers(std::span<const LayerDecision> decisions);

/// How many graphs sensitivity() runs, for a progress bar.
std::size_t sensitivity_runs(const graph::Graph& wide, const Recipe& recipe,
                             const Calibration* calibration);

/// One entry a narrow layer, in execution order; each runs the whole network over all images.
/// `reference` are the logits of `wide` itself, or whatever logits to compare with. Throws as
/// quantize() and run_images().
std::vector<LayerError> sensitivity(const graph::Graph& wide, const Recipe& recipe,
                                    const Calibration* calibration, const ImageSet& images,
                                    std::span<const float> reference, const RunOptions& options);

}  // namespace assay::quant
