#pragma once
/// What an error comes from: one operand rounded at a time, one observer at a time, one layer at a
/// time.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quant/quant.h"
#include "study/schema.h"

namespace assay::study {

/// What all ablations of one model run on.
struct AblationInput {
  const graph::Graph& wide;  ///< fp32
  const quant::Calibration& calibration;
  quant::ImageSet images;
  std::span<const float> reference;  ///< logits of the images
  quant::RunOptions run;
};

/// Weights rounded alone, activations alone, and both.
std::vector<Ablation> ablate_operands(const AblationInput& input, const std::string& variant,
                                      const quant::Recipe& recipe);

/// The recipe with each observer for its activations. Throws bad_input where no rule of it reads a
/// calibration's ranges.
std::vector<Calibrator> ablate_observers(const AblationInput& input, const std::string& variant,
                                         const quant::Recipe& recipe,
                                         std::span<const std::string> observers);

/// Each narrow layer alone.
std::vector<LayerSensitivity> ablate_layers(const AblationInput& input, const std::string& variant,
                                            const quant::Recipe& recipe);

}  // namespace assay::study
