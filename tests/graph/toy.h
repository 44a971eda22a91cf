#pragma once
/// Small graphs for the tests of the passes, and running them on the reference backend.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/error.h"
#include "graph/graph.h"

namespace assay::graph {

/// Writes graphs node by node; shapes are inferred. Constants are made of a fixed random sequence.
class Toy {
 public:
  Toy(std::int64_t height, std::int64_t width) {
    graph_.name = "toy";
    graph_.input = add({"input", {height, width, 3}, std::nullopt});
  }
  [[nodiscard]] ValueId input() const { return graph_.input; }

  ValueId constant(const std::string& name, Dims dims, float low = -1.0F, float high = 1.0F) {
    std::uniform_real_distribution<float> spread(low, high);
    std::vector<float> numbers(static_cast<std::size_t>(elements(dims)));
    for (float& number : numbers) number = spread(random_);
    return add({name, std::move(dims), make_constant(std::move(numbers))});
  }

  ValueId node(const std::string& name, Operator op, std::vector<ValueId> inputs) {
    Node made{name, std::move(op), std::move(inputs), kNone};
    Dims dims = infer_shape(graph_, made);
    made.output = add({name, std::move(dims), std::nullopt});
    graph_.nodes.push_back(std::move(made));
    return graph_.nodes.back().output;
  }

  /// A 3×3 convolution of `x` to `channels`.
  ValueId conv(const std::string& name, ValueId x, std::int64_t channels, bool bias = false) {
    const Dims weight{channels, graph_.value(x).dims[2], 3, 3};
    std::vector<ValueId> inputs{x, constant(name + ".weight", weight)};
    if (bias) inputs.push_back(constant(name + ".bias", {channels}));
    Conv2d op;
    op.padding = {1, 1};
    return node(name, op, std::move(inputs));
  }

  ValueId linear(const std::string& name, ValueId x, std::int64_t features) {
    const ValueId weight = constant(name + ".weight", {features, graph_.value(x).dims.back()});
    return node(name, Linear{}, {x, weight, constant(name + ".bias", {features})});
  }

  ValueId batch_norm(const std::string& name, ValueId x) {
    const Dims channels{graph_.value(x).dims.back()};
    const ValueId weight = constant(name + ".weight", channels);
    const ValueId bias = constant(name + ".bias", channels);
    const ValueId mean = constant(name + ".running_mean", channels);
    const ValueId variance = constant(name + ".running_var", channels, 0.01F, 2.0F);
    return node(name, BatchNorm{1e-5}, {x, weight, bias, mean, variance});
  }

  Graph finish(ValueId logits) {
    graph_.outputs.push_back({"logits", logits});
    verify(graph_);
    return graph_;
  }
  /// For outputs beyond the logits, and for tests that break a graph.
  Graph& graph() { return graph_; }

 private:
  ValueId add(Value value) {
    graph_.values.push_back(std::move(value));
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  Graph graph_;
  std::mt19937 random_{20260};
};

/// The logits for a fixed random input, computed by the reference backend.
inline std::vector<float> logits_of(const Graph& graph) {
  const auto plan = backend::lower(std::make_shared<const Graph>(graph), {"reference", 0}, {});
  std::mt19937 random{7};
  std::uniform_real_distribution<float> spread(-1.0F, 1.0F);
  std::vector<float> input(static_cast<std::size_t>(elements(graph.value(graph.input).dims)));
  for (float& number : input) number = spread(random);
  std::vector<float> logits(
      static_cast<std::size_t>(elements(graph.value(graph.output("logits")).dims)));
  plan->make_session()->run({{}, input}, 1, {logits, {}});
  return logits;
}

/// How many nodes are of type Op.
template <typename Op>
int count(const Graph& graph) {
  int found = 0;
  for (const Node& node : graph.nodes) found += std::holds_alternative<Op>(node.op) ? 1 : 0;
  return found;
}

inline const Node* find_node(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

/// The message and kind of the error that `function` throws; empty where it throws none.
template <typename Function>
std::pair<ErrorKind, std::string> error_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {ErrorKind::internal, ""};
}

}  // namespace assay::graph
