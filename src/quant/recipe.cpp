#include "quant/recipe.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace assay::quant {
namespace {

using graph::Precision;

/// Whether `text` is what the glob says: * for any number of characters, ? for one. Takes time in
/// proportion to the product of the lengths at most: only the last star is ever tried again.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool any_glob(std::span<const std::string> globs, std::string_view name) {
  return std::ranges::any_of(globs,
                             [&](const std::string& glob) { return glob_matches(glob, name); });
}

bool reads_activations(const Rule& rule) {
  return rule.precision == Precision::int8 || rule.precision == Precision::fp8;
}

}  // namespace

std::string_view name(Granularity granularity) {
  switch (granularity) {
    case Granularity::tensor:
      return "tensor";
    case Granularity::channel:
      return "channel";
    case Granularity::block:
      break;
  }
  return "block";
}

std::string_view name(WeightObserver observer) {
  return observer == WeightObserver::max ? "max" : "mse";
}

bool matches(const Rule& rule, const graph::Node& node) {
  const bool weighted = std::holds_alternative<graph::Linear>(node.op) ||
                        std::holds_alternative<graph::Conv2d>(node.op) ||
                        std::holds_alternative<graph::Attention>(node.op);
  if (!weighted || !graph::can_have(node.op, rule.precision)) return false;
  const bool role =
      rule.roles.empty() || std::ranges::find(rule.roles, node.role) != rule.roles.end();
  return role && any_glob(rule.layers, node.name) && !any_glob(rule.except, node.name);
}

Recipe find_recipe(const std::string& name_or_path) {
  for (const BuiltinRecipe& builtin : builtin_recipes()) {
    if (builtin.name == name_or_path) {
      return parse_recipe(builtin.text, fmt::format("{}.toml", builtin.name));
    }
  }
  std::error_code absent;
  if (!std::filesystem::exists(name_or_path, absent)) {
    std::vector<std::string_view> names;
    for (const BuiltinRecipe& builtin : builtin_recipes()) names.push_back(builtin.name);
    fail(ErrorKind::not_found, "recipe '{}': there is no such file, and the built-in ones are {}",
         name_or_path, fmt::join(names, ", "));
  }
  return parse_recipe(read_text(name_or_path, kMaxRecipeBytes), name_or_path);
}

Recipe default_recipe(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      break;
    case Precision::fp16:
      return find_recipe("fp16");
    case Precision::bf16:
      return find_recipe("bf16");
    case Precision::int8:
      return find_recipe("int8-max");
    case Precision::fp8:
      return find_recipe("fp8-vit-max");
    case Precision::nvfp4:
      return find_recipe("nvfp4-weights");
  }
  Recipe recipe;
  recipe.name = "fp32";
  return recipe;
}

bool needs_calibration(const Recipe& recipe) {
  return recipe.outliers || std::ranges::any_of(recipe.rules, [](const Rule& rule) {
           return reads_activations(rule) || rule.smooth || rule.bias_correction;
         });
}

std::vector<std::string> observers_of(const Recipe& recipe) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& observer) {
    if (std::ranges::find(names, observer) == names.end()) names.push_back(observer);
  };
  if (needs_calibration(recipe)) add("max");
  for (const Rule& rule : recipe.rules) {
    if (reads_activations(rule)) add(rule.activations);
  }
  if (recipe.outliers) add(recipe.outliers->observer);
  return names;
}

Recipe only(const Recipe& recipe, std::string_view layer) {
  Recipe one = recipe;
  Rule rest;
  rest.except = {std::string(layer)};
  rest.precision = Precision::fp32;
  rest.optional = true;
  one.rules.push_back(std::move(rest));
  return one;
}

}  // namespace assay::quant
