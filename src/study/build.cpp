#include "study/build.h"

#include <algorithm>

#include "base/error.h"
#include "base/thread_pool.h"
#include "pipeline/classifier.h"

namespace assay::study {
namespace {

/// "cpu avx512, 2 threads, fp8 emulated" in parts.
std::vector<std::string> parts_of(const std::string& plan) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < plan.size();) {
    const std::size_t comma = std::min(plan.find(", ", at), plan.size());
    parts.push_back(plan.substr(at, comma - at));
    at = comma + 2;
  }
  return parts;
}

/// The format that a part of a plan's description begins with; empty for none.
std::string format_of(const std::string& part) {
  const std::string word = part.substr(0, part.find(' '));
  return graph::precision_from_name(word) ? word : "";
}

MultiplyAdds multiply_adds(const std::vector<quant::LayerDecision>& layers) {
  std::map<std::string, double> by_precision;
  for (const quant::LayerDecision& layer : layers)
    by_precision[std::string(graph::name(layer.precision))] += layer.multiply_adds;
  return MultiplyAdds::of(std::move(by_precision));
}

Steps count_steps(const Classifier& classifier) {
  Steps steps;
  for (const backend::StepInfo& step : classifier.state().plan->steps()) {
    ++steps.count;
    steps.conversions += step.operation == "fake_quantize" ? 1 : 0;
  }
  return steps;
}

Size size_of(const bundle::Bundle& bundle, const std::filesystem::path& scratch) {
  bundle::write(bundle, scratch);
  const bundle::Description description = bundle::describe(scratch);
  std::filesystem::remove(scratch);
  return {description.file_bytes, description.weight_bytes};
}

/// What a call uses; the other backends take no threads.
std::uint64_t threads_of(const VariantSpec& spec, int threads) {
  if (spec.backend != "cpu") return 1;
  const int used = spec.threads > 0 ? spec.threads : threads;
  return static_cast<std::uint64_t>(used > 0 ? used : available_cores());
}

/// Without a recipe, all layers are fp32: a recipe without rules says so.
quant::Recipe no_recipe() { return quant::default_recipe(graph::Precision::fp32); }

}  // namespace

VariantBuild build_variant(const bundle::Bundle& wide, const VariantSpec& spec,
                           const std::optional<quant::Recipe>& recipe,
                           const quant::Calibration& calibration) {
  const quant::Recipe used = recipe.value_or(no_recipe());
  const bool calibrated = quant::needs_calibration(used);
  quant::Quantized made = quant::quantize(*wide.graph, used, calibrated ? &calibration : nullptr);
  VariantBuild build{spec, recipe, wide, std::move(made.layers), {}};
  for (const auto& [layer, factors] : made.smoothing) build.smoothed.insert(layer);
  build.bundle.optimization_level = spec.level;
  if (!recipe) return build;
  build.bundle.graph = std::make_shared<const graph::Graph>(std::move(made.graph));
  build.bundle.precision = graph::name(used.precision);
  build.bundle.provenance.recipe = used;
  if (calibrated) build.bundle.provenance.calibration = calibration.source;
  return build;
}

Classifier load_variant(const VariantBuild& build, int threads, int max_batch) {
  LoadOptions options;
  options.backend = build.spec.backend;
  options.threads = build.spec.threads > 0 ? build.spec.threads : threads;
  options.max_batch = max_batch;
  return pipeline::make_classifier(build.bundle, options);
}

std::optional<quant::Recipe> named_recipe(const Spec& spec, const std::string& recipe) {
  if (recipe == kFp32) return std::nullopt;
  return quant::find_recipe(recipe.ends_with(".toml") ? spec.resolve(recipe).string() : recipe);
}

void check_recipes(const Spec& spec) {
  struct Use {
    const VariantSpec& variant;
    quant::Recipe recipe;
  };
  std::vector<Use> uses;
  for (const VariantSpec& variant : spec.variants) {
    auto recipe = named_recipe(spec, variant.search ? variant.search->from : variant.recipe);
    // What a search finds is kept under the variant's name, and what it starts from is not kept.
    if (!recipe || variant.search) continue;
    for (const Use& other : uses)
      if (other.recipe.name == recipe->name && other.recipe != *recipe)
        fail(ErrorKind::bad_input,
             "variants '{}' ({}) and '{}' ({}) have different recipes, both named '{}', and the "
             "study's folder keeps one of a name: give one of the two another name",
             other.variant.name, other.variant.recipe, variant.name, variant.recipe, recipe->name);
    uses.push_back({variant, std::move(*recipe)});
  }
}

std::vector<std::string> emulated_formats(const std::string& plan) {
  std::vector<std::string> formats;
  for (const std::string& part : parts_of(plan)) {
    std::string format = format_of(part);
    if (!format.empty() && !part.ends_with("stored")) formats.push_back(std::move(format));
  }
  return formats;
}

std::string why_not_timed(const Variant& variant) {
  if (!variant.emulated.empty())
    return fmt::format(
        "{} is emulated on this backend: operands are rounded to the format in software, and the "
        "time is not the format's",
        fmt::join(variant.emulated, " and "));
  for (const std::string& part : parts_of(variant.plan))
    if (!format_of(part).empty())
      return fmt::format(
          "{} is stored and computed in fp32 on this backend: the time is not the "
          "format's",
          format_of(part));
  if (variant.backend == "reference") return "the reference backend is not there for its speed";
  return "";
}

Variant describe_variant(const VariantBuild& build, const Classifier& classifier, int threads,
                         const std::filesystem::path& scratch) {
  Variant variant;
  variant.name = build.spec.name;
  variant.precision = build.bundle.precision;
  if (build.recipe) variant.recipe = build.recipe->name;
  variant.backend = build.spec.backend;
  variant.threads = threads_of(build.spec, threads);
  variant.level = static_cast<std::uint64_t>(build.spec.level);
  variant.plan = classifier.info().plan;
  variant.emulated = emulated_formats(variant.plan);
  variant.speed_reason = why_not_timed(variant);
  variant.size = size_of(build.bundle, scratch);
  variant.steps = count_steps(classifier);
  variant.multiply_adds = multiply_adds(build.layers);
  for (const quant::LayerDecision& layer : build.layers)
    variant.layers.push_back({layer.layer, std::string(graph::name(layer.role)),
                              std::string(graph::name(layer.precision)), layer.reason,
                              layer.multiply_adds});
  return variant;
}

}  // namespace assay::study
