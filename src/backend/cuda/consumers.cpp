#include "backend/cuda/consumers.h"

#include <algorithm>

namespace assay::backend::cuda {

Consumers::Consumers(const graph::Graph& graph)
    : producers_(graph.values.size(), nullptr),
      readers_(graph.values.size()),
      outputs_(graph.values.size(), false) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    producers_[graph.nodes[i].output] = &graph.nodes[i];
    for (const graph::ValueId input : graph.nodes[i].inputs) {
      if (input != graph::kNone) readers_[input].push_back(i);
    }
  }
  for (const graph::Output& output : graph.outputs) outputs_[output.value] = true;
}

bool is_depthwise(const graph::Graph& graph, const graph::Node& node) {
  const auto* conv = std::get_if<graph::Conv2d>(&node.op);
  if (conv == nullptr || conv->groups == 1) return false;
  return conv->groups == graph.value(node.inputs[0]).dims.back() &&
         conv->groups == graph.value(node.output).dims.back();
}

bool is_pointwise(const graph::Graph& graph, const graph::Node& node) {
  const auto* conv = std::get_if<graph::Conv2d>(&node.op);
  if (conv == nullptr || conv->groups != 1) return false;
  const graph::Dims& weight = graph.value(node.inputs[1]).dims;
  return weight[2] == 1 && weight[3] == 1 && conv->stride == std::array{1, 1} &&
         conv->padding == std::array{0, 0};
}

bool is_leading(const graph::Dims& dims, int axis) {
  return std::all_of(dims.begin(), dims.begin() + axis, [](std::int64_t d) { return d == 1; });
}

bool keeps_rows(const graph::Graph& graph, const graph::Node& reshape) {
  const graph::Dims& in = graph.value(reshape.inputs[0]).dims;
  const graph::Dims& out = graph.value(reshape.output).dims;
  return !in.empty() && !out.empty() && in.back() == out.back();
}

}  // namespace assay::backend::cuda
