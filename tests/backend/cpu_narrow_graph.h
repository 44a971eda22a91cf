#pragma once
/// Random graphs whose products take narrow operands.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu_random_graph.h"

namespace assay::backend::cpu {

/// Stores the weight of `node` as s8, -127 to 127, with a scale an output channel.
inline void quantize_weight(graph::Graph& graph, graph::Node& node) {
  graph::Value& weight = graph.values[node.inputs[1]];
  const std::vector<float> numbers = graph::to_f32(*weight.constant);
  const auto channels = static_cast<std::size_t>(weight.dims[0]);
  const std::size_t each = numbers.size() / channels;
  auto codes = std::make_shared<std::vector<std::int8_t>>(numbers.size());
  std::vector<float> scales(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    float largest = 0;
    for (std::size_t i = 0; i < each; ++i) {
      largest = std::max(largest, std::abs(numbers[c * each + i]));
    }
    scales[c] = largest / 127;
    for (std::size_t i = 0; i < each; ++i) {
      (*codes)[c * each + i] =
          static_cast<std::int8_t>(std::lround(numbers[c * each + i] / scales[c]));
    }
  }
  weight.constant = graph::Constant{DType::i8, std::as_bytes(std::span(*codes)), codes};
  graph.values.push_back({node.name + ".weight_scale",
                          {static_cast<std::int64_t>(channels)},
                          graph::make_constant(scales)});
  node.inputs.resize(5, graph::kNone);
  node.inputs[4] = static_cast<graph::ValueId>(graph.values.size() - 1);
}

inline bool is_product(const graph::Node& node) {
  const auto* conv = std::get_if<graph::Conv2d>(&node.op);
  return std::holds_alternative<graph::Linear>(node.op) || (conv != nullptr && conv->groups == 1);
}

inline graph::Graph narrowed(graph::Graph graph, graph::Precision precision) {
  for (graph::Node& node : graph.nodes) {
    if (std::holds_alternative<graph::Attention>(node.op)) node.precision = graph::Precision::bf16;
    if (!is_product(node)) continue;
    node.precision = precision;
    if (precision != graph::Precision::int8) continue;
    quantize_weight(graph, node);
    node.input_quantization = {0.05F, 100};  // -5 to 7.75: what these graphs' values mostly are
  }
  return graph;
}

/// A transformer block of 45 tokens, from an image [5, 9, 3] to [45, 24].
inline graph::Graph narrow_transformer_block(graph::Precision precision) {
  GraphMaker make(5);
  graph::ValueId x = make.linear(make.node(graph::Reshape{{45, 3}}, {make.input({5, 9, 3})}), 24);
  const graph::ValueId qkv = make.linear(make.layer_norm(x), 72);
  std::vector<graph::ValueId> parts;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(make.node(graph::Slice{1, i * 24, (i + 1) * 24}, {qkv}));
  }
  x = make.linear(make.node(graph::Attention{3, 0.3}, parts), 24, true, graph::Activation::none, x);
  const graph::ValueId hidden = make.linear(make.layer_norm(x), 48, true, graph::Activation::gelu);
  return narrowed(make.finish(make.linear(hidden, 24, true, graph::Activation::none, x)),
                  precision);
}

}  // namespace assay::backend::cpu
