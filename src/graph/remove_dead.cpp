#include <algorithm>

#include "graph/passes.h"

namespace assay::graph {
namespace {

/// The values that an output needs, and the input, which is part of a graph's interface.
std::vector<bool> needed_values(const Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  needed[graph.input] = true;
  for (const Output& output : graph.outputs) needed[output.value] = true;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!needed[node->output]) continue;
    for (const ValueId id : node->inputs) {
      if (id != kNone) needed[id] = true;
    }
  }
  return needed;
}

}  // namespace

void remove_dead(Graph& graph) {
  const std::vector<bool> needed = needed_values(graph);
  std::erase_if(graph.nodes, [&](const Node& node) { return !needed[node.output]; });

  std::vector<ValueId> renumbered(graph.values.size(), kNone);
  std::vector<Value> kept;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (!needed[i]) continue;
    renumbered[i] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(graph.values[i]));
  }
  graph.values = std::move(kept);

  graph.input = renumbered[graph.input];
  for (Output& output : graph.outputs) output.value = renumbered[output.value];
  for (Node& node : graph.nodes) {
    node.output = renumbered[node.output];
    for (ValueId& id : node.inputs) {
      if (id != kNone) id = renumbered[id];
    }
  }
}

}  // namespace assay::graph
