#pragma once
/// Recipes: which layers of a network take narrow operands, in which format, with which scales.
/// TOML that people write; docs/recipes.md tells it all.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace assay::quant {

/// Which weights share a scale: all of the layer, those of an output channel, or blocks of
/// graph::kBlock along K.
enum class Granularity : std::uint8_t { tensor, channel, block };
/// "tensor", "channel", "block".
std::string_view name(Granularity granularity);

/// How a weight's scale is found: its largest magnitude becomes the format's largest number, or the
/// scale with the smallest sum of squared errors of those tried.
enum class WeightObserver : std::uint8_t { max, mse };
/// "max", "mse".
std::string_view name(WeightObserver observer);

struct WeightRule {
  Granularity granularity = Granularity::tensor;
  WeightObserver observer = WeightObserver::max;
  bool operator==(const WeightRule&) const = default;
};

/// What a recipe says of some layers.
struct Rule {
  std::vector<graph::Role> roles;  ///< empty: any
  std::vector<std::string> layers{
      "*"};                         ///< globs over names: * and ? as in a shell, also over dots
  std::vector<std::string> except;  ///< globs
  graph::Precision precision = graph::Precision::fp32;
  WeightRule weights;               ///< at int8, fp8, nvfp4
  std::string activations = "max";  ///< the observer of a calibration; at int8 and fp8
  /// SmoothQuant's alpha (arXiv 2211.10438), of linear layers behind a LayerNorm, at int8 and fp8.
  std::optional<double> smooth;
  /// Takes the mean error that rounded weights make out of the bias; at int8, fp8, nvfp4.
  bool bias_correction = false;
  bool optional = false;  ///< whether it may match no layer of a network
  bool operator==(const Rule&) const = default;
};

/// A layer with an operand whose range by "max" is more than `ratio` times that by `observer` keeps
/// the base, for a few values would take the range from all others.
struct OutlierRule {
  std::string observer;
  double ratio = 0;
  bool operator==(const OutlierRule&) const = default;
};

struct Recipe {
  std::string name;  ///< lower-case letters, digits, '.', '_', '-'
  std::string description;
  /// What a bundle of this recipe is called, and the narrowest that its layers may be, in the order
  /// of graph::Precision.
  graph::Precision precision = graph::Precision::fp32;
  /// Of every product and attention that no rule takes: fp32, fp16 or bf16.
  graph::Precision base = graph::Precision::fp32;
  std::vector<Rule> rules;  ///< a later one wins over an earlier one
  std::optional<OutlierRule> outliers;
  bool operator==(const Recipe&) const = default;
};

/// Longest recipe that is read, in bytes.
inline constexpr std::uint64_t kMaxRecipeBytes = 256 << 10;

/// `what` names the text in messages. Throws bad_input with file, line, key, what was found and
/// what was expected.
Recipe parse_recipe(std::string_view text, std::string_view what);

/// TOML that parse_recipe() makes the same recipe of; equal recipes give equal text. Comments of a
/// text that was parsed are not in it.
std::string to_toml(const Recipe& recipe);

struct BuiltinRecipe {
  std::string_view name;
  std::string_view text;  ///< with its comments
};
/// What recipes/*.toml holds, in order of name.
std::span<const BuiltinRecipe> builtin_recipes();

/// A built-in recipe by its name, or a file's. Throws not_found, listing the built-in ones, and as
/// parse_recipe().
Recipe find_recipe(const std::string& name_or_path);

/// What a build at `precision` uses when it is told no recipe: bf16, fp16, int8-max, fp8-vit-max,
/// nvfp4-weights; at fp32 one that leaves all as it is.
Recipe default_recipe(graph::Precision precision);

/// Whether a rule needs a calibration: for scales of activations, smoothing, bias correction or
/// outliers.
bool needs_calibration(const Recipe& recipe);

/// The observers that a calibration for this recipe must have, each once; "max" at least where it
/// needs one.
std::vector<std::string> observers_of(const Recipe& recipe);

/// The recipe with every other layer at fp32.
Recipe only(const Recipe& recipe, std::string_view layer);

/// Whether a rule is about the node, whatever later rules say: its role, its name, and that its
/// operator can have the rule's precision.
bool matches(const Rule& rule, const graph::Node& node);

}  // namespace assay::quant
