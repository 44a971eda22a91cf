#pragma once
/// A network with every kind of layer that recipes speak of, and its calibration.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "graph/passes.h"
#include "graph/serialize.h"
#include "graph/toy.h"
#include "quant/observe.h"
#include "quant/quantize.h"

namespace assay::quant {

/// Stem, depthwise and pointwise convolution, then a transformer block without its residuals.
inline graph::Graph toy_network() {
  using graph::Role;
  graph::Toy toy(4, 4);
  const auto role = [&](const char* name, Role is) {
    for (graph::Node& node : toy.graph().nodes) {
      if (node.name == name) node.role = is;
    }
  };
  const graph::ValueId x = toy.conv("stem", toy.input(), 4, true);
  graph::Conv2d depthwise;
  depthwise.groups = 4;
  const graph::ValueId spread =
      toy.node("dw", depthwise, {x, toy.constant("dw.weight", {4, 1, 1, 1})});
  const graph::ValueId wide = toy.node(
      "expand", graph::Conv2d{}, {spread, toy.constant("expand.weight", {20, 4, 1, 1}, -0.5F, 1)});
  const graph::ValueId flat = toy.node("flat", graph::Reshape{{16, 20}}, {wide});
  const auto norm = [&](const char* name, graph::ValueId in) {
    const std::string scope = name;
    return toy.node(
        name, graph::LayerNorm{1e-5},
        {in, toy.constant(scope + ".weight", {20}, 0.1F, 4), toy.constant(scope + ".bias", {20})});
  };
  const graph::ValueId qkv = toy.linear("attn.qkv", norm("norm1", flat), 60);
  const auto part = [&](const char* name, std::int64_t begin) {
    return toy.node(name, graph::Slice{1, begin, begin + 20}, {qkv});
  };
  const graph::ValueId seen = toy.node("attn", graph::Attention{2, 0.3},
                                       {part("attn.q", 0), part("attn.k", 20), part("attn.v", 40)});
  const graph::ValueId proj = toy.linear("attn.proj", seen, 20);
  const graph::ValueId hidden = toy.linear("mlp.fc1", norm("norm2", proj), 40);
  const graph::ValueId active =
      toy.node("mlp.act", graph::Activate{graph::Activation::silu}, {hidden});
  const graph::ValueId pooled =
      toy.node("pool", graph::Mean{{0}}, {toy.linear("mlp.fc2", active, 20)});
  graph::Graph graph = toy.finish(toy.linear("head", pooled, 3));
  toy.graph() = graph;
  role("stem", Role::stem);
  role("dw", Role::depthwise);
  role("expand", Role::expand);
  role("attn.qkv", Role::qkv);
  role("attn", Role::attention);
  role("attn.proj", Role::attention_projection);
  role("mlp.fc1", Role::fc1);
  role("mlp.fc2", Role::fc2);
  role("head", Role::classifier);
  return toy.graph();
}

inline std::vector<float> toy_image(int which) {
  std::vector<float> numbers(48);
  for (std::size_t i = 0; i < 48; ++i) {
    numbers[i] = std::sin(static_cast<float>(i) * (1 + 0.1F * static_cast<float>(which)));
  }
  return numbers;
}

inline Calibration toy_calibration(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const std::string_view name : observers()) names.emplace_back(name);
  Observation seen(std::make_shared<const graph::Graph>(graph), names);
  for (int i = 0; i < 4; ++i) seen.observe(toy_image(i));
  return {graph.name, graph::fingerprint(graph), {names, 4, 1, 0, 0}, seen.operands()};
}

/// A recipe of one rule.
inline Recipe toy_recipe(graph::Precision precision,
                         graph::Precision base = graph::Precision::fp32) {
  Recipe recipe;
  recipe.name = "toy";
  recipe.precision = precision;
  recipe.base = base;
  recipe.rules.resize(1);
  recipe.rules[0].precision = precision;
  if (precision == graph::Precision::int8) {
    recipe.rules[0].weights.granularity = Granularity::channel;
  } else if (precision == graph::Precision::nvfp4) {
    recipe.rules[0].weights.granularity = Granularity::block;
  }
  return recipe;
}

/// What a value of the network is for an image, by the reference backend.
inline std::vector<float> toy_run(const graph::Graph& graph, int image,
                                  const std::string& value = "head") {
  graph::Graph watched = graph;
  const auto found = std::ranges::find(watched.values, value, &graph::Value::name);
  watched.outputs = {{"logits", static_cast<graph::ValueId>(found - watched.values.begin())}};
  graph::remove_dead(watched);
  const auto dims = watched.value(watched.outputs[0].value).dims;
  const auto plan =
      backend::lower(std::make_shared<const graph::Graph>(watched), {"reference", 0}, {});
  std::vector<float> numbers(static_cast<std::size_t>(graph::elements(dims)));
  plan->make_session()->run({{}, toy_image(image)}, 1, {numbers, {}});
  return numbers;
}

inline const graph::Value& input_of(const graph::Graph& graph, const std::string& node,
                                    std::size_t index) {
  return graph.value(graph::find_node(graph, node)->inputs.at(index));
}

inline graph::Precision precision_of(const graph::Graph& graph, const std::string& node) {
  return graph::find_node(graph, node)->precision;
}

/// Puts numbers in the place of a weight's.
inline void set_numbers(graph::Graph& graph, const std::string& value, std::vector<float> numbers) {
  const auto found = std::ranges::find(graph.values, value, &graph::Value::name);
  found->constant = graph::make_constant(std::move(numbers));
}

}  // namespace assay::quant
