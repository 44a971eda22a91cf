#pragma once
/// Looking for numbers that are not finite, and for layers whose numbers come near their format's
/// range.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "quant/quant.h"
#include "study/build.h"
#include "study/images.h"
#include "study/schema.h"

namespace assay::study {

/// The largest magnitude; infinite where a number is not finite, 0 for no numbers.
double magnitude_of(std::span<const float> numbers);

/// What a classifier makes of every stress input.
std::vector<StressInput> run_stress(const Classifier& classifier);

/// The largest magnitude that each operand of the fp32 network's products and attentions held, by
/// layer: one operand, attention has three.
using Magnitudes = std::map<std::string, std::vector<double>, std::less<>>;

/// Traces the unfused network over all images, one a thread. Numbers that are not finite count as
/// infinite.
Magnitudes trace_magnitudes(const bundle::Bundle& wide, const Images& images, int threads);

/// Each layer's magnitude against the largest number that its operand's format holds: of fp8 and
/// int8 what the calibrated scale makes of it; of attention the operand that comes nearest. Left
/// out are layers whose operands stay fp32, and those that smoothing changed the input of.
std::vector<LayerRange> against_formats(const VariantBuild& build, const Magnitudes& magnitudes);

}  // namespace assay::study
