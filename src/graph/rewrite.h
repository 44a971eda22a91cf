#pragma once
/// What the passes share: who makes a value, who reads it, and putting another in its place.
#include <vector>

#include "graph/graph.h"

namespace assay::graph {

/// Who makes and who reads each value of a graph, as it was when this was made.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  /// The index of the node that computes `id`, or kNobody for the input and constants.
  [[nodiscard]] std::size_t producer(ValueId id) const { return producers_[id]; }
  /// How many inputs of nodes, and outputs of the graph, read `id`.
  [[nodiscard]] int readers(ValueId id) const { return readers_[id]; }
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

 private:
  std::vector<std::size_t> producers_;
  std::vector<int> readers_;
};

/// Everything that reads `from`, outputs of the graph too, reads `to` from now on.
void replace_readers(Graph& graph, ValueId from, ValueId to);

/// Takes away the nodes that are marked, one mark a node.
void erase_nodes(Graph& graph, const std::vector<bool>& gone);

/// Whether an output of the graph is `id`.
bool is_output(const Graph& graph, ValueId id);

/// Whether the node is a linear layer or a convolution: it has a weight.
bool is_product(const Node& node);

/// The node's input, or kNone where it is left off.
ValueId input_or_none(const Node& node, std::size_t index);

/// Adds a constant; `name` is made unique with a number where it is taken.
ValueId add_constant(Graph& graph, const std::string& name, Dims dims, Constant constant);
ValueId add_constant(Graph& graph, const std::string& name, Dims dims, std::vector<float> numbers);

}  // namespace assay::graph
