#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "graph/emulate.h"
#include "graph/passes.h"
#include "graph/rewrite.h"
#include "quant/quantize.h"

namespace assay::quant {
namespace {

using graph::kWeightInput;
using graph::Precision;
using graph::ValueId;

/// Products of the rounded weights and of inputs as they are.
graph::Graph rounded_weights(const Quantized& quantized) {
  graph::Graph graph = quantized.graph;
  for (graph::Node& node : graph.nodes) {
    if (graph::is_product(node) && node.precision != Precision::fp32) {
      const graph::Value weight = graph.value(node.inputs[kWeightInput]);
      node.inputs[kWeightInput] = graph::add_constant(graph, weight.name + ".wide", weight.dims,
                                                      graph::weight_numbers(graph, node));
      if (node.inputs.size() > graph::kWeightScaleInput) {
        node.inputs.resize(graph::kWeightScaleInput);
      }
    }
    node.precision = Precision::fp32;
    node.input_quantization = {};
    node.input_scales.clear();
  }
  return graph;
}

/// A constant of `wide` in `graph`, or kNone.
ValueId copied(graph::Graph& graph, const graph::Graph& wide, ValueId id) {
  if (id == graph::kNone) return graph::kNone;
  const graph::Value& value = wide.value(id);
  return graph::add_constant(graph, value.name + ".exact", value.dims, *value.constant);
}

/// The weight that was rounded: that of `wide`, smoothed where it was.
ValueId exact_weight(graph::Graph& graph, const graph::Graph& wide, const graph::Node& node,
                     const Quantized& quantized) {
  const ValueId id = node.inputs[kWeightInput];
  const auto smoothing = quantized.smoothing.find(node.name);
  if (smoothing == quantized.smoothing.end()) return copied(graph, wide, id);
  const std::vector<float>& factors = smoothing->second;
  const graph::Value& value = wide.value(id);
  std::vector<float> numbers = graph::to_f32(*value.constant);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= factors[i % factors.size()];
  return graph::add_constant(graph, value.name + ".exact", value.dims, std::move(numbers));
}

/// Products of rounded inputs and of weights and biases as they were.
graph::Graph rounded_activations(const graph::Graph& wide, const Quantized& quantized) {
  graph::Graph graph = quantized.graph;
  std::unordered_map<std::string_view, const graph::Node*> narrow;
  for (const graph::Node& node : quantized.graph.nodes) {
    if (graph::is_product(node) && node.precision != Precision::fp32)
      narrow.emplace(node.name, &node);
  }
  graph::emulate(graph, std::span(graph::kPrecisions).subspan(1));  // all but fp32
  for (const graph::Node& node : wide.nodes) {
    if (!narrow.contains(node.name)) continue;
    const auto found = std::ranges::find(graph.nodes, node.name, &graph::Node::name);
    if (found == graph.nodes.end()) {
      fail(ErrorKind::internal, "layer '{}' was lost in emulation", node.name);
    }
    found->inputs[kWeightInput] = exact_weight(graph, wide, node, quantized);
    if (found->inputs.size() > graph::kBiasInput) {
      found->inputs[graph::kBiasInput] =
          copied(graph, wide, graph::input_or_none(node, graph::kBiasInput));
    }
  }
  return graph;
}

}  // namespace

graph::Graph isolate(const graph::Graph& wide, const Quantized& quantized, Operands which) {
  graph::Graph graph = which == Operands::weights ? rounded_weights(quantized)
                                                  : rounded_activations(wide, quantized);
  graph::remove_dead(graph);  // what is not read any more
  graph::verify(graph);
  return graph;
}

}  // namespace assay::quant
