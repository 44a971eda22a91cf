#pragma once
/// Products of toy graphs at bf16 and int8, made by hand.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "graph/toy.h"

namespace assay::graph {

inline Node& node_named(Graph& graph, const std::string& name) {
  for (Node& node : graph.nodes) {
    if (node.name == name) return node;
  }
  throw std::runtime_error("no node " + name);
}

inline void make_bf16(Graph& graph, const std::string& name) {
  node_named(graph, name).precision = Precision::bf16;
}

/// Gives the node an s8 weight, one scale an output channel, and `input` for what it reads.
inline void make_int8(Graph& graph, const std::string& name, numerics::AffineU8 input) {
  Node& node = node_named(graph, name);
  Value& weight = graph.values[node.inputs[1]];
  const std::vector<float> numbers = to_f32(*weight.constant);
  const auto channels = static_cast<std::size_t>(weight.dims[0]);
  const std::size_t each = numbers.size() / channels;
  std::vector<float> scales(channels, 0.0F);
  std::vector<std::int8_t> codes(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    scales[i / each] = std::max(scales[i / each], std::abs(numbers[i]) / 127);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(std::nearbyint(numbers[i] / scales[i / each]));
  }
  weight.constant = make_constant(DType::i8, std::as_bytes(std::span(codes)));
  graph.values.push_back({name + ".scales", {weight.dims[0]}, make_constant(std::move(scales))});
  node.inputs.resize(kWeightScaleInput + 1, kNone);
  node.inputs[kWeightScaleInput] = static_cast<ValueId>(graph.values.size() - 1);
  node.precision = Precision::int8;
  node.input_quantization = input;
}

/// A convolution at int8, a linear layer and attention at bf16, a head at int8.
inline Graph narrow_graph() {
  Toy toy(4, 5);
  const ValueId x = toy.conv("conv", toy.input(), 6, true);
  const ValueId tokens = toy.node("tokens", Reshape{{20, 6}}, {x});
  const ValueId q = toy.linear("q", tokens, 6);
  const ValueId attended = toy.node("attention", Attention{2, 0.5}, {q, tokens, tokens});
  const ValueId pooled = toy.node("mean", Mean{{0}}, {attended});
  Graph graph = toy.finish(toy.linear("head", pooled, 3));
  make_int8(graph, "conv", {0.0078125F, 128});
  make_bf16(graph, "q");
  make_bf16(graph, "attention");
  make_int8(graph, "head", {0.02F, 100});
  verify(graph);
  return graph;
}

}  // namespace assay::graph
