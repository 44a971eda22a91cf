#include "quant/decide.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/rewrite.h"
#include "quant/quantize.h"
#include "quant/scales.h"

namespace assay::quant {
namespace {

using graph::Precision;

std::string describe(const Rule& rule) {
  std::string roles = "any role";
  if (!rule.roles.empty()) {
    std::vector<std::string_view> names;
    for (const graph::Role role : rule.roles) names.push_back(graph::name(role));
    roles = fmt::format("roles {}", fmt::join(names, ", "));
  }
  return fmt::format("{}, layers {}, precision {}", roles, fmt::join(rule.layers, ", "),
                     graph::name(rule.precision));
}

void check_all_match(const graph::Graph& graph, const Recipe& recipe) {
  for (std::size_t i = 0; i < recipe.rules.size(); ++i) {
    const Rule& rule = recipe.rules[i];
    const bool found = std::ranges::any_of(
        graph.nodes, [&](const graph::Node& node) { return matches(rule, node); });
    if (found || rule.optional) continue;
    fail(ErrorKind::bad_input,
         "recipe {}: rule {} ({}) matches no layer of {}; give it 'optional = true' if that may be",
         recipe.name, i + 1, describe(rule), graph.name);
  }
}

/// The rule that has the last word.
Decision by_rules(const graph::Node& node, const Recipe& recipe) {
  for (std::size_t i = recipe.rules.size(); i-- > 0;) {
    const Rule& rule = recipe.rules[i];
    if (matches(rule, node)) return {&rule, rule.precision, fmt::format("rule {}", i + 1)};
  }
  if (graph::can_have(node.op, recipe.base))
    return {nullptr, recipe.base, "base: no rule takes it"};
  return {nullptr, Precision::fp32, "grouped convolutions have no narrow form"};
}

/// Why the layer's ranges are not to be trusted; empty where they are.
std::string outliers_of(const graph::Node& node, Precision precision, const OutlierRule& outliers,
                        const Calibration& calibration) {
  for (const std::string_view operand : operand_names(node)) {
    const OperandStats& stats = stats_of(calibration, node.name, operand);
    const Format format = format_of(precision);
    const float all = largest_magnitude(range_of(stats, "max", format));
    const float most = largest_magnitude(range_of(stats, outliers.observer, format));
    if (!(static_cast<double>(all) > outliers.ratio * most)) continue;
    return fmt::format("outliers: {}'s max {:.4g} is more than {} times {} {:.4g}", operand, all,
                       outliers.ratio, outliers.observer, most);
  }
  return "";
}

}  // namespace

bool is_layer(const graph::Node& node) {
  return graph::is_product(node) || std::holds_alternative<graph::Attention>(node.op);
}

std::vector<std::string_view> operand_names(const graph::Node& node) {
  if (std::holds_alternative<graph::Attention>(node.op)) return {"query", "key", "value"};
  return {"input"};
}

Format format_of(Precision precision) {
  return precision == Precision::int8 ? Format::int8 : Format::e4m3;
}

const OperandStats& stats_of(const Calibration& calibration, std::string_view layer,
                             std::string_view operand) {
  const OperandStats* const found = find(calibration, layer, operand);
  if (found == nullptr) {
    fail(ErrorKind::bad_input, "the calibration has no entry for the {} of layer '{}'", operand,
         layer);
  }
  return *found;
}

std::vector<Decision> decide(const graph::Graph& graph, const Recipe& recipe,
                             const Calibration* calibration) {
  check_all_match(graph, recipe);
  std::vector<Decision> decisions;
  decisions.reserve(graph.nodes.size());
  for (const graph::Node& node : graph.nodes) {
    Decision decision;
    if (is_layer(node)) decision = by_rules(node, recipe);
    const bool ranges =
        decision.precision == Precision::int8 || decision.precision == Precision::fp8;
    if (ranges && recipe.outliers) {
      std::string why = outliers_of(node, decision.precision, *recipe.outliers, *calibration);
      if (!why.empty()) {
        decision = {nullptr, recipe.base, fmt::format("{}; it keeps the base", why)};
      }
    }
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

}  // namespace assay::quant
