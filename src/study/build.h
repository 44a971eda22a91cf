#pragma once
/// From a checkpoint to the variants of a study.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "bundle/bundle.h"
#include "quant/quant.h"
#include "study/schema.h"
#include "study/spec.h"

namespace assay::study {

/// One variant of one model.
struct VariantBuild {
  VariantSpec spec;
  std::optional<quant::Recipe> recipe;  ///< none: fp32
  bundle::Bundle bundle;
  std::vector<quant::LayerDecision> layers;
  std::set<std::string, std::less<>> smoothed;  ///< layers whose input smoothing changed
};

/// The fp32 bundle `wide` with a recipe, or as it is; as bundle::build() makes it. Throws as
/// quantize().
VariantBuild build_variant(const bundle::Bundle& wide, const VariantSpec& spec,
                           const std::optional<quant::Recipe>& recipe,
                           const quant::Calibration& calibration);

/// Lowered for its backend. `threads` is the study's, for variants that name none.
Classifier load_variant(const VariantBuild& build, int threads, int max_batch);

/// The shipped or written recipe that `spec` names; none for fp32. Not for "auto". Paths are
/// resolved in the spec's folder. Throws as find_recipe().
std::optional<quant::Recipe> named_recipe(const Spec& spec, const std::string& recipe);

/// Throws bad_input, naming both, where two variants have different recipes of one name: the
/// study's folder keeps a recipe under its name, and a variant is found by it. Reads all recipes,
/// and throws as find_recipe().
void check_recipes(const Spec& spec);

/// What the record says of a variant before anything is measured: plan, size, steps, layers. The
/// bundle is written to `scratch` to see its size, and removed.
Variant describe_variant(const VariantBuild& build, const Classifier& classifier, int threads,
                         const std::filesystem::path& scratch);

/// Why the plan's speed would say nothing; empty where it does: it emulates a format, or stores one
/// that it computes in another, or its backend is not there for its speed.
std::string why_not_timed(const Variant& variant);

/// The formats that a plan's description calls emulated.
std::vector<std::string> emulated_formats(const std::string& plan);

}  // namespace assay::study
