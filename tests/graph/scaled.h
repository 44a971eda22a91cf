#pragma once
/// Products of toy graphs at fp16, fp8 and nvfp4, made by hand.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "graph/narrow.h"
#include "numerics/e2m1.h"
#include "numerics/e4m3.h"
#include "numerics/fp16.h"

namespace assay::graph {

inline float largest_magnitude(std::span<const float> numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

inline void add_input(Graph& graph, Node& node, std::size_t input, Value value) {
  graph.values.push_back(std::move(value));
  if (node.inputs.size() <= input) node.inputs.resize(input + 1, kNone);
  node.inputs[input] = static_cast<ValueId>(graph.values.size() - 1);
}

/// Stores the weight as F16.
inline void make_fp16(Graph& graph, const std::string& name) {
  Node& node = node_named(graph, name);
  node.precision = Precision::fp16;
  if (std::holds_alternative<Attention>(node.op)) return;
  Value& weight = graph.values[node.inputs[kWeightInput]];
  std::vector<numerics::Fp16::Code> codes;
  for (const float number : to_f32(*weight.constant)) {
    codes.push_back(numerics::Fp16::encode(number));
  }
  weight.constant = make_constant(DType::f16, std::as_bytes(std::span(codes)));
}

enum class Scales { tensor, channel };

/// Gives the node an E4M3 weight whose scales make the largest number 448, and `input` as what it
/// reads is scaled by; attention gets it for all three.
inline void make_fp8(Graph& graph, const std::string& name, Scales granularity, float input) {
  Node& node = node_named(graph, name);
  node.precision = Precision::fp8;
  node.input_scales = {input};
  if (std::holds_alternative<Attention>(node.op)) {
    node.input_scales = {input, input * 0.75F, input * 1.25F};
    return;
  }
  Value& weight = graph.values[node.inputs[kWeightInput]];
  const std::vector<float> numbers = to_f32(*weight.constant);
  const auto channels =
      granularity == Scales::tensor ? 1 : static_cast<std::size_t>(weight.dims[0]);
  const std::size_t each = numbers.size() / channels;
  std::vector<float> scales(channels);
  std::vector<numerics::E4m3::Code> codes;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    float& scale = scales[i / each];
    if (i % each == 0) scale = largest_magnitude(std::span(numbers).subspan(i, each)) / 448;
    codes.push_back(numerics::E4m3::encode(numbers[i] / scale));
  }
  weight.constant = make_constant(DType::f8_e4m3, std::as_bytes(std::span(codes)));
  add_input(
      graph, node, kWeightScaleInput,
      {name + ".scales", {static_cast<std::int64_t>(channels)}, make_constant(std::move(scales))});
}

/// Gives the node an E2M1 weight in blocks of 16 along K.
inline void make_nvfp4(Graph& graph, const std::string& name) {
  Node& node = node_named(graph, name);
  node.precision = Precision::nvfp4;
  Value& weight = graph.values[node.inputs[kWeightInput]];
  const std::vector<float> numbers = to_f32(*weight.constant);
  const auto channels = static_cast<std::size_t>(weight.dims[0]);
  const std::size_t depth = numbers.size() / channels;
  constexpr auto kEach = static_cast<std::size_t>(kBlock);
  const float tensor_scale = largest_magnitude(numbers) / (448 * 6);
  std::vector<numerics::E4m3::Code> scales;
  std::vector<std::byte> packed((numbers.size() + 1) / 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i % depth % kEach == 0) {
      const std::size_t count = std::min(kEach, depth - i % depth);
      const float largest = largest_magnitude(std::span(numbers).subspan(i, count));
      scales.push_back(numerics::E4m3::encode(largest / 6 / tensor_scale));
    }
    const float scale = numerics::E4m3::decode(scales.back()) * tensor_scale;
    const unsigned code = numerics::E2m1::encode(scale > 0 ? numbers[i] / scale : 0.0F);
    packed[i / 2] |= static_cast<std::byte>(i % 2 == 0 ? code : code << 4);
  }
  weight.constant = make_constant(DType::f4, packed);
  const Dims dims{weight.dims[0], static_cast<std::int64_t>(scales.size() / channels)};
  add_input(graph, node, kWeightScaleInput,
            {name + ".block_scales", dims,
             make_constant(DType::f8_e4m3, std::as_bytes(std::span(scales)))});
  add_input(graph, node, kTensorScaleInput,
            {name + ".tensor_scale", {1}, make_constant(std::vector<float>{tensor_scale})});
}

/// A convolution and a linear layer at fp8 with their scales a channel and a tensor, attention at
/// fp8, a linear layer and a head of odd depth at nvfp4, one at fp16.
inline Graph scaled_graph() {
  Toy toy(4, 5);
  const ValueId x = toy.conv("conv", toy.input(), 6, true);
  const ValueId tokens = toy.node("tokens", Reshape{{20, 6}}, {x});
  const ValueId q = toy.linear("q", tokens, 6);
  const ValueId attended = toy.node("attention", Attention{2, 0.5}, {q, tokens, tokens});
  const ValueId wide = toy.linear("wide", attended, 19);
  const ValueId narrow = toy.linear("narrow", wide, 5);
  const ValueId pooled = toy.node("mean", Mean{{0}}, {narrow});
  Graph graph = toy.finish(toy.linear("head", pooled, 3));
  make_fp8(graph, "conv", Scales::channel, 0.0023F);
  make_fp8(graph, "q", Scales::tensor, 0.011F);
  make_fp8(graph, "attention", Scales::tensor, 0.009F);
  make_fp16(graph, "wide");
  make_nvfp4(graph, "narrow");
  make_nvfp4(graph, "head");
  node_named(graph, "q").role = Role::query;
  node_named(graph, "attention").role = Role::attention;
  verify(graph);
  return graph;
}

}  // namespace assay::graph
