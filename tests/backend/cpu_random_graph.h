#pragma once
/// Small random graphs for the differential test, built by hand so that each operator meets odd
/// shapes.
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace assay::backend::cpu {

/// Adds values and nodes to a graph; shapes are inferred, constants are random.
class GraphMaker {
 public:
  explicit GraphMaker(unsigned seed) : generator_(seed) { graph_.name = "random"; }

  graph::ValueId input(graph::Dims dims) {
    graph_.input = add_value("input", std::move(dims));
    return graph_.input;
  }
  graph::ValueId constant(graph::Dims dims, float low = -1, float high = 1) {
    std::uniform_real_distribution<float> uniform(low, high);
    std::vector<float> numbers(static_cast<std::size_t>(graph::elements(dims)));
    for (float& x : numbers) x = uniform(generator_);
    const graph::ValueId id =
        add_value("constant" + std::to_string(graph_.values.size()), std::move(dims));
    graph_.values[id].constant = graph::make_constant(std::move(numbers));
    return id;
  }
  graph::ValueId node(graph::Operator op, std::vector<graph::ValueId> inputs) {
    graph::Node node{std::string(graph::operator_name(op)) + std::to_string(graph_.nodes.size()),
                     std::move(op), std::move(inputs), graph::kNone};
    graph::Dims dims = graph::infer_shape(graph_, node);
    node.output = add_value(node.name, std::move(dims));
    graph_.nodes.push_back(node);
    return node.output;
  }
  [[nodiscard]] const graph::Dims& dims(graph::ValueId id) const { return graph_.value(id).dims; }

  /// The graph with `logits` as its output.
  graph::Graph finish(graph::ValueId logits) {
    graph_.outputs.push_back({"logits", logits});
    return std::move(graph_);
  }

  graph::ValueId linear(graph::ValueId x, std::int64_t n, bool bias = true,
                        graph::Activation activation = graph::Activation::none,
                        graph::ValueId residual = graph::kNone) {
    const std::int64_t k = dims(x).back();
    return node(graph::Linear{activation},
                {x, constant({n, k}), bias ? constant({n}) : graph::kNone, residual});
  }
  graph::ValueId conv(graph::ValueId x, std::int64_t out, std::int64_t kernel,
                      const graph::Conv2d& op, bool bias = true,
                      graph::ValueId residual = graph::kNone) {
    const std::int64_t in = dims(x).back();
    return node(op, {x, constant({out, in / op.groups, kernel, kernel}),
                     bias ? constant({out}) : graph::kNone, residual});
  }
  graph::ValueId layer_norm(graph::ValueId x) {
    const std::int64_t c = dims(x).back();
    return node(graph::LayerNorm{1e-5}, {x, constant({c}, 0.5F, 1.5F), constant({c})});
  }

 private:
  graph::ValueId add_value(std::string name, graph::Dims dims) {
    graph_.values.push_back({std::move(name), std::move(dims), std::nullopt});
    return static_cast<graph::ValueId>(graph_.values.size() - 1);
  }
  graph::Graph graph_;
  std::mt19937 generator_;
};

/// A pre-norm transformer block of 3 heads over 45 tokens of `width` channels.
inline graph::Graph transformer_block(std::int64_t width) {
  GraphMaker make(static_cast<unsigned>(width));
  const graph::ValueId image = make.input({5, 9, 3});
  graph::ValueId x = make.linear(make.node(graph::Reshape{{45, 3}}, {image}), width);
  const graph::ValueId qkv = make.linear(make.layer_norm(x), 3 * width);
  std::vector<graph::ValueId> parts;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(make.node(graph::Slice{1, i * width, (i + 1) * width}, {qkv}));
  }
  const graph::ValueId mixed = make.node(graph::Attention{3, 0.3}, parts);
  x = make.linear(mixed, width, true, graph::Activation::none, x);
  const graph::ValueId hidden =
      make.linear(make.layer_norm(x), 2 * width, true, graph::Activation::gelu);
  return make.finish(make.linear(hidden, width, true, graph::Activation::none, x));
}

}  // namespace assay::backend::cpu
