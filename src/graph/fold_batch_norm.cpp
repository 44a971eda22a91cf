#include <cmath>

#include "graph/passes.h"
#include "graph/rewrite.h"

namespace assay::graph {
namespace {

/// y = scale · x + shift, a channel each. Source: Ioffe and Szegedy, arXiv 1502.03167, section 3.1.
struct Affine {
  std::vector<double> scale;
  std::vector<double> shift;
};

Affine affine_of(const Graph& graph, const Node& node) {
  const double epsilon = std::get<BatchNorm>(node.op).epsilon;
  const auto numbers = [&](std::size_t i) { return to_f32(*graph.value(node.inputs[i]).constant); };
  const std::vector<float> weight = numbers(1);
  const std::vector<float> bias = numbers(2);
  const std::vector<float> mean = numbers(3);
  const std::vector<float> variance = numbers(4);
  Affine affine;
  for (std::size_t c = 0; c < weight.size(); ++c) {
    affine.scale.push_back(weight[c] / std::sqrt(static_cast<double>(variance[c]) + epsilon));
    affine.shift.push_back(bias[c] - affine.scale[c] * mean[c]);
  }
  return affine;
}

/// Whether `conv` has nothing between its sum and its output that the affine map would have to
/// pass. A weight that was rounded to a narrow format is left alone: rounding it once more would
/// cost accuracy.
bool can_take(const Graph& graph, const Uses& uses, const Node& conv) {
  const auto* op = std::get_if<Conv2d>(&conv.op);
  return op != nullptr && conv.precision == Precision::fp32 && op->activation == Activation::none &&
         input_or_none(conv, kResidualInput) == kNone && uses.readers(conv.output) == 1 &&
         !is_output(graph, conv.output);
}

void scale_weights(Graph& graph, Node& conv, const Affine& affine) {
  const Dims dims = graph.value(conv.inputs[1]).dims;
  std::vector<float> weight = to_f32(*graph.value(conv.inputs[1]).constant);
  const std::size_t channels = affine.scale.size();
  const std::size_t each = weight.size() / channels;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] = static_cast<float>(weight[i] * affine.scale[i / each]);
  }
  std::vector<float> bias(channels, 0.0F);
  const ValueId old_bias = input_or_none(conv, kBiasInput);
  if (old_bias != kNone) bias = to_f32(*graph.value(old_bias).constant);
  for (std::size_t c = 0; c < channels; ++c) {
    bias[c] = static_cast<float>(bias[c] * affine.scale[c] + affine.shift[c]);
  }
  conv.inputs.resize(kBiasInput + 1, kNone);
  conv.inputs[1] = add_constant(graph, conv.name + ".weight.folded", dims, std::move(weight));
  conv.inputs[kBiasInput] = add_constant(graph, conv.name + ".bias.folded",
                                         {static_cast<std::int64_t>(channels)}, std::move(bias));
}

}  // namespace

void fold_batch_norm(Graph& graph) {
  const Uses uses(graph);
  std::vector<bool> folded(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& norm = graph.nodes[i];
    if (!std::holds_alternative<BatchNorm>(norm.op)) continue;
    const std::size_t producer = uses.producer(norm.inputs[0]);
    if (producer == Uses::kNobody || !can_take(graph, uses, graph.nodes[producer])) continue;
    Node& conv = graph.nodes[producer];
    scale_weights(graph, conv, affine_of(graph, norm));
    conv.output = norm.output;
    folded[i] = true;
  }
  erase_nodes(graph, folded);
  remove_dead(graph);
}

}  // namespace assay::graph
