#pragma once
/// The sentences of a study, each made of measured values: what ships, and which cause an isolating
/// run shows. Marked text (report_text.h).
#include <string>
#include <vector>

#include "study/schema.h"

namespace assay::study {

/// What the study answers: for each model, which variants ship and which do not.
std::vector<std::string> decisions(const Study& study);

/// What a variant must meet to ship.
std::string thresholds_text(const Study& study);

/// "baseline", "ship" or "do not ship".
std::string decision_word(const Variant& variant);

/// Why a variant's verdict is what it is, in one line.
std::string verdict_text(const Variant& variant);

/// What the isolating runs of a model say of one variant: weights against activations, the layer
/// that costs most by itself, the observers. Where no such run was made it says that and states no
/// cause.
std::vector<std::string> causes(const Model& model, const Variant& variant);

/// What of the selections proves that no image was both calibrated on and judged.
std::vector<std::string> selection_text(const Study& study);

/// What bounds the figures: how many images, what was emulated, what else the machine did.
std::vector<std::string> trust(const Study& study);

/// What the non-finite scan found of a variant.
std::string nonfinite_text(const Variant& variant);

}  // namespace assay::study
