#pragma once
/// Which layer of a graph gets which of a recipe's rules.
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/calibration.h"
#include "quant/recipe.h"

namespace assay::quant {

struct Decision {
  const Rule* rule = nullptr;  ///< null where the base holds; the recipe's own
  graph::Precision precision = graph::Precision::fp32;
  std::string reason;  ///< empty for nodes that are no product and no attention
};

/// The operands of a node that have ranges: "input"; of attention "query", "key" and "value".
std::vector<std::string_view> operand_names(const graph::Node& node);

/// The format that ranges are for at int8 and fp8.
Format format_of(graph::Precision precision);

/// What the calibration has of the operand. Throws bad_input where it has nothing.
const OperandStats& stats_of(const Calibration& calibration, std::string_view layer,
                             std::string_view operand);

/// One a node. Throws bad_input for a rule that matches no layer and is not optional. `calibration`
/// is read where the recipe has an outlier rule.
std::vector<Decision> decide(const graph::Graph& graph, const Recipe& recipe,
                             const Calibration* calibration);

}  // namespace assay::quant
