#include "study/ablate.h"

#include <algorithm>

#include "base/error.h"

namespace assay::study {
namespace {

const quant::Calibration* calibration_for(const AblationInput& input, const quant::Recipe& recipe) {
  return quant::needs_calibration(recipe) ? &input.calibration : nullptr;
}

LogitError error_of(const AblationInput& input, graph::Graph graph) {
  const std::vector<float> logits = quant::run_images(std::move(graph), input.images, input.run);
  const quant::LogitError error =
      quant::logit_error(input.reference, logits, quant::classes_of(input.wide));
  return {error.sqnr_db, error.agreement, error.kl};
}

}  // namespace

std::vector<Ablation> ablate_operands(const AblationInput& input, const std::string& variant,
                                      const quant::Recipe& recipe) {
  const quant::Quantized quantized =
      quant::quantize(input.wide, recipe, calibration_for(input, recipe));
  const std::uint64_t images = input.images.count;
  const auto alone = [&](quant::Operands operands) {
    return error_of(input, quant::isolate(input.wide, quantized, operands));
  };
  return {{variant, images, "weights", alone(quant::Operands::weights)},
          {variant, images, "activations", alone(quant::Operands::activations)},
          {variant, images, "both", error_of(input, quantized.graph)}};
}

std::vector<Calibrator> ablate_observers(const AblationInput& input, const std::string& variant,
                                         const quant::Recipe& recipe,
                                         std::span<const std::string> observers) {
  const auto reads_ranges = [](const quant::Rule& rule) {
    return rule.precision == graph::Precision::int8 || rule.precision == graph::Precision::fp8;
  };
  if (std::ranges::none_of(recipe.rules, reads_ranges))
    fail(
        ErrorKind::bad_input,
        "calibrators: the recipe '{}' of variant '{}' has no rule whose activations are calibrated",
        recipe.name, variant);
  std::vector<Calibrator> calibrators;
  for (const std::string& observer : observers) {
    quant::Recipe changed = recipe;
    for (quant::Rule& rule : changed.rules)
      if (reads_ranges(rule)) rule.activations = observer;
    graph::Graph graph =
        quant::quantize(input.wide, changed, calibration_for(input, changed)).graph;
    calibrators.push_back(
        {variant, observer, input.images.count, error_of(input, std::move(graph))});
  }
  return calibrators;
}

std::vector<LayerSensitivity> ablate_layers(const AblationInput& input, const std::string& variant,
                                            const quant::Recipe& recipe) {
  std::vector<LayerSensitivity> layers;
  for (const quant::LayerError& layer :
       quant::sensitivity(input.wide, recipe, calibration_for(input, recipe), input.images,
                          input.reference, input.run))
    layers.push_back({variant,
                      layer.decision.layer,
                      std::string(graph::name(layer.decision.role)),
                      input.images.count,
                      {layer.error.sqnr_db, layer.error.agreement, layer.error.kl},
                      layer.decision.multiply_adds});
  return layers;
}

}  // namespace assay::study
