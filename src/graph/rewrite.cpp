#include "graph/rewrite.h"

#include <algorithm>

#include "base/error.h"

namespace assay::graph {

Uses::Uses(const Graph& graph)
    : producers_(graph.values.size(), kNobody), readers_(graph.values.size(), 0) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    producers_[graph.nodes[i].output] = i;
    for (const ValueId id : graph.nodes[i].inputs) {
      if (id != kNone) ++readers_[id];
    }
  }
  for (const Output& output : graph.outputs) ++readers_[output.value];
}

void replace_readers(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) std::ranges::replace(node.inputs, from, to);
  for (Output& output : graph.outputs) {
    if (output.value == from) output.value = to;
  }
}

void erase_nodes(Graph& graph, const std::vector<bool>& gone) {
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!gone[i]) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
}

bool is_output(const Graph& graph, ValueId id) {
  return std::ranges::find(graph.outputs, id, &Output::value) != graph.outputs.end();
}

bool is_product(const Node& node) {
  return std::holds_alternative<Linear>(node.op) || std::holds_alternative<Conv2d>(node.op);
}

ValueId input_or_none(const Node& node, std::size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : kNone;
}

ValueId add_constant(Graph& graph, const std::string& name, Dims dims, std::vector<float> numbers) {
  return add_constant(graph, name, std::move(dims), make_constant(std::move(numbers)));
}

ValueId add_constant(Graph& graph, const std::string& name, Dims dims, Constant constant) {
  std::string unique = name;
  for (int i = 2; std::ranges::find(graph.values, unique, &Value::name) != graph.values.end();
       ++i) {
    unique = fmt::format("{}_{}", name, i);
  }
  graph.values.push_back({std::move(unique), std::move(dims), std::move(constant)});
  return static_cast<ValueId>(graph.values.size() - 1);
}

}  // namespace assay::graph
