#include <algorithm>

#include "base/error.h"
#include "base/toml.h"
#include "quant/calibration.h"
#include "quant/recipe.h"

namespace assay::quant {
namespace {

using graph::Precision;
using graph::Role;

/// What a key may say, and what is meant by it.
template <typename Value>
using Choices = std::vector<std::pair<std::string_view, Value>>;

template <typename Value>
Value choose(const TomlTable& table, std::string_view key, const Choices<Value>& choices) {
  const std::string text = table.text(key);
  std::string expected;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    expected += fmt::format("{}\"{}\"", expected.empty() ? "" : ", ", name);
  }
  table.refuse(key, choices.size() == 1 ? expected : "one of " + expected);
}

Precision precision_of(const TomlTable& table, std::string_view key, Precision narrowest) {
  Choices<Precision> choices;
  for (const Precision precision : graph::kPrecisions) {
    if (precision <= narrowest) choices.emplace_back(graph::name(precision), precision);
  }
  return choose(table, key, choices);
}

std::string observer_of(const TomlTable& table) {
  Choices<std::string> choices;
  for (const std::string_view observer : observers()) {
    choices.emplace_back(observer, std::string(observer));
  }
  return choose(table, "observer", choices);
}

std::string name_of(const TomlTable& table) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  constexpr std::size_t kLongest = 64;
  const std::string text = table.text("name");
  if (text.empty() || text.size() > kLongest ||
      text.find_first_not_of(kLetters) != std::string::npos) {
    table.refuse("name", "up to 64 lower-case letters, digits, '.', '_' and '-'");
  }
  return text;
}

/// The list, where the key is there.
std::vector<std::string> list_of(const TomlTable& table, std::string_view key,
                                 std::vector<std::string> otherwise) {
  if (!table.has(key)) return otherwise;
  std::vector<std::string> list = table.texts(key);
  if (list.empty()) table.refuse(key, "at least one entry, or no such key");
  return list;
}

/// Whether layers of the role can be at the precision at all.
bool can_have(Role role, Precision precision) {
  if (role == Role::depthwise) return precision == Precision::fp32;
  if (role == Role::attention) return graph::can_have(graph::Attention{}, precision);
  return true;
}

std::vector<Role> roles_of(const TomlTable& table, Precision precision) {
  std::vector<Role> roles;
  for (const std::string& text : list_of(table, "roles", {})) {
    const auto role = graph::role_from_name(text);
    if (!role || *role == Role::none) {
      std::vector<std::string_view> names;
      for (int i = 1; i <= static_cast<int>(Role::classifier); ++i) {
        names.push_back(graph::name(static_cast<Role>(i)));
      }
      table.complain("roles", fmt::format("there is no role \"{:.40}\"; the roles are {}", text,
                                          fmt::join(names, ", ")));
    }
    if (!can_have(*role, precision)) {
      table.complain("roles", fmt::format("layers of the role \"{}\" cannot be {}", text,
                                          graph::name(precision)));
    }
    roles.push_back(*role);
  }
  return roles;
}

bool has_scales(Precision precision) {
  return precision == Precision::int8 || precision == Precision::fp8 ||
         precision == Precision::nvfp4;
}

bool has_input_scales(Precision precision) {
  return precision == Precision::int8 || precision == Precision::fp8;
}

/// Throws where the key is there and the rule's precision has no use for it.
bool wants(const TomlTable& table, std::string_view key, Precision precision, bool meaningful,
           std::string_view where) {
  if (!table.has(key)) return false;
  if (!meaningful) {
    table.complain(key, fmt::format("{} means nothing at {}: it is for {}", key,
                                    graph::name(precision), where));
  }
  return true;
}

/// What each precision's kernels take.
Choices<Granularity> granularities(Precision precision) {
  if (precision == Precision::int8) return {{"channel", Granularity::channel}};
  if (precision == Precision::nvfp4) return {{"block", Granularity::block}};
  return {{"tensor", Granularity::tensor}, {"channel", Granularity::channel}};
}

WeightRule weights_of(const TomlTable& rule, Precision precision) {
  WeightRule weights;
  if (!has_scales(precision) && !rule.has("weights")) return weights;
  weights.granularity = granularities(precision).front().second;
  if (!wants(rule, "weights", precision, has_scales(precision), "int8, fp8 and nvfp4")) {
    return weights;
  }
  const TomlTable table = rule.table("weights");
  if (table.has("granularity")) {
    weights.granularity = choose(table, "granularity", granularities(precision));
  }
  if (table.has("observer")) {
    weights.observer =
        choose(table, "observer",
               Choices<WeightObserver>{{"max", WeightObserver::max}, {"mse", WeightObserver::mse}});
  }
  table.finish();
  return weights;
}

Rule parse_rule(const TomlTable& table, Precision narrowest) {
  Rule rule;
  rule.precision = precision_of(table, "precision", narrowest);
  const bool scales = has_scales(rule.precision);
  const bool input_scales = has_input_scales(rule.precision);
  rule.roles = roles_of(table, rule.precision);
  rule.layers = list_of(table, "layers", rule.layers);
  rule.except = list_of(table, "except", {});
  rule.weights = weights_of(table, rule.precision);
  if (wants(table, "activations", rule.precision, input_scales, "int8 and fp8")) {
    const TomlTable activations = table.table("activations");
    rule.activations = observer_of(activations);
    activations.finish();
  }
  if (wants(table, "smooth", rule.precision, input_scales, "int8 and fp8")) {
    rule.smooth = table.number("smooth", 0, 1);
  }
  if (wants(table, "bias_correction", rule.precision, scales, "int8, fp8 and nvfp4")) {
    rule.bias_correction = table.boolean("bias_correction");
  }
  if (table.has("optional")) rule.optional = table.boolean("optional");
  table.finish();
  return rule;
}

OutlierRule parse_outliers(const TomlTable& table) {
  constexpr double kMost = 1e6;
  OutlierRule outliers;
  outliers.observer = observer_of(table);
  if (outliers.observer == "max") {
    table.refuse("observer", "another observer than the \"max\" that it is compared with");
  }
  outliers.ratio = table.number("ratio", 1, kMost);
  table.finish();
  return outliers;
}

}  // namespace

Recipe parse_recipe(std::string_view text, std::string_view what) {
  if (text.size() > kMaxRecipeBytes) {
    fail(ErrorKind::bad_input, "{}: {} bytes, the limit of a recipe is {}", what, text.size(),
         kMaxRecipeBytes);
  }
  const TomlTable table = TomlTable::parse(text, std::string(what));
  Recipe recipe;
  recipe.name = name_of(table);
  if (table.has("description")) recipe.description = table.text("description");
  recipe.precision = precision_of(table, "precision", graph::kPrecisions.back());
  recipe.base = precision_of(table, "base", std::min(recipe.precision, Precision::bf16));
  for (const TomlTable& rule : table.tables("rule")) {
    recipe.rules.push_back(parse_rule(rule, recipe.precision));
  }
  if (table.has("outliers")) recipe.outliers = parse_outliers(table.table("outliers"));
  table.finish();
  return recipe;
}

}  // namespace assay::quant
