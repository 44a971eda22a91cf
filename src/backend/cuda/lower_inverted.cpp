#include "backend/cuda/lower_inverted.h"

#include "backend/cuda/inverted_weights.h"
#include "backend/cuda/kernels/inverted_shape.h"
#include "backend/cuda/weights.h"
#include "backend/flops.h"
#include "graph/emulate.h"
#include "graph/rewrite.h"

namespace assay::backend::cuda {
namespace {

using graph::kBiasInput;
using graph::kResidualInput;
using graph::kWeightInput;

constexpr std::int64_t kOctet = 8;

bool is_product(const graph::Graph& graph, const graph::Node& node, graph::Activation activation) {
  return is_pointwise(graph, node) && node.precision == graph::Precision::fp16 &&
         std::get<graph::Conv2d>(node.op).activation == activation &&
         is_constant_or_none(graph, node, kWeightInput) &&
         is_constant_or_none(graph, node, kBiasInput);
}

bool is_small_depthwise(const graph::Graph& graph, const graph::Node& node) {
  if (!is_depthwise(graph, node)) return false;
  const auto& op = std::get<graph::Conv2d>(node.op);
  const graph::Dims& weight = graph.value(node.inputs[kWeightInput]).dims;
  return weight[2] == 3 && weight[3] == 3 && op.stride[0] == op.stride[1] &&
         (op.stride[0] == 1 || op.stride[0] == 2) && op.padding == std::array{1, 1} &&
         op.dilation == std::array{1, 1} && op.activation == graph::Activation::silu &&
         graph::input_or_none(node, kResidualInput) == graph::kNone &&
         is_constant_or_none(graph, node, kWeightInput) &&
         is_constant_or_none(graph, node, kBiasInput);
}

/// Rows of f16 in whole octets, each aligned to 16 bytes, in the order of the pixels.
bool lies_well(const Lowering& lowering, const Place& place) {
  return !place.unfolded() && lowering.store_at(place) == Store::f16 && place.width % kOctet == 0 &&
         place.row_stride % kOctet == 0 && place.offset % kOctet == 0;
}

Inverted shape_of(const Lowering& lowering, const InvertedResidual& nodes) {
  const graph::Dims& in = lowering.dims(nodes.expand->inputs[0]);
  const graph::Dims& wide = lowering.dims(nodes.expand->output);
  const graph::Dims& out = lowering.dims(nodes.project->output);
  Inverted shape;
  shape.in_height = static_cast<std::int32_t>(in[0]);
  shape.in_width = static_cast<std::int32_t>(in[1]);
  shape.out_height = static_cast<std::int32_t>(out[0]);
  shape.out_width = static_cast<std::int32_t>(out[1]);
  shape.channels = static_cast<std::int32_t>(in[2]);
  shape.expanded = static_cast<std::int32_t>(wide[2]);
  shape.out_channels = static_cast<std::int32_t>(out[2]);
  shape.stride = std::get<graph::Conv2d>(nodes.depthwise->op).stride[0];
  const bool residual = graph::input_or_none(*nodes.project, kResidualInput) != graph::kNone;
  shape.has_residual = residual ? 1 : 0;
  return shape;
}

/// Keeps the packed weights; nowhere where fp16 can't hold one of them.
Kept keep_weights(Lowering& lowering, const InvertedResidual& nodes, const Inverted& shape) {
  const graph::Graph& graph = lowering.graph();
  const std::vector<float> expand = graph::weight_numbers(graph, *nodes.expand);
  const std::vector<float> project = graph::weight_numbers(graph, *nodes.project);
  if (!fits_fp16(expand) || !fits_fp16(project)) return {};
  const std::vector<float> depthwise =
      constant_input(graph, *nodes.depthwise, kWeightInput, "weight");
  const std::vector<float> expand_bias = constant_input(graph, *nodes.expand, kBiasInput, "bias");
  const std::vector<float> depthwise_bias =
      constant_input(graph, *nodes.depthwise, kBiasInput, "bias");
  InvertedWeights weights;
  weights.channels = shape.channels;
  weights.expanded = shape.expanded;
  weights.out_channels = shape.out_channels;
  weights.expand = expand;
  weights.depthwise = depthwise;
  weights.project = project;
  weights.expand_bias = expand_bias;
  weights.depthwise_bias = depthwise_bias;
  return lowering.constants().keep(std::span<const std::byte>(pack_inverted(weights)));
}

}  // namespace

std::optional<InvertedResidual> inverted_at(const graph::Graph& graph, const Consumers& consumers,
                                            std::size_t first) {
  if (first + kInvertedNodes > graph.nodes.size()) return std::nullopt;
  const InvertedResidual nodes{&graph.nodes[first], &graph.nodes[first + 1],
                               &graph.nodes[first + 2]};
  if (!is_product(graph, *nodes.expand, graph::Activation::silu) ||
      !is_small_depthwise(graph, *nodes.depthwise) ||
      !is_product(graph, *nodes.project, graph::Activation::none) ||
      graph::input_or_none(*nodes.expand, kResidualInput) != graph::kNone ||
      nodes.depthwise->inputs[0] != nodes.expand->output ||
      nodes.project->inputs[0] != nodes.depthwise->output) {
    return std::nullopt;
  }
  for (const graph::ValueId between : {nodes.expand->output, nodes.depthwise->output}) {
    if (consumers.readers(between).size() != 1 || consumers.is_output(between)) return std::nullopt;
  }
  // What is added is the image that the block has in shared memory anyway.
  const graph::ValueId residual = graph::input_or_none(*nodes.project, kResidualInput);
  if (residual != graph::kNone && residual != nodes.expand->inputs[0]) return std::nullopt;
  return nodes;
}

bool lower_inverted(Lowering& lowering, const InvertedResidual& nodes) {
  const Inverted shape = shape_of(lowering, nodes);
  if (!can_be_one_step(shape)) return false;
  const Place in = lowering.place_of(nodes.expand->inputs[0]);
  const Place out = lowering.place_output(*nodes.project);
  if (!lies_well(lowering, in) || !lies_well(lowering, out)) return false;
  const Kept weights = keep_weights(lowering, nodes, shape);
  if (weights.offset < 0) return false;
  std::vector<float> bias = constant_input(lowering.graph(), *nodes.project, kBiasInput, "bias");
  bias.resize(static_cast<std::size_t>(shape.out_channels));
  const Kept kept_bias = lowering.constants().keep(std::span<const float>(bias));
  Step& step = lowering.add_step(*nodes.project, "inverted residual f16", {in}, {out},
                                 [=](const Addresses& at) {
                                   Inverted now = shape;
                                   now.in = at.view(in);
                                   now.out = at.view(out);
                                   now.weights = at.kept<std::byte>(weights);
                                   now.bias = at.kept(kept_bias);
                                   return Instruction(now);
                                 });
  for (const graph::Node* const inner : {nodes.expand, nodes.depthwise}) {
    step.info.flops += count_flops(lowering.graph(), *inner);
    step.info.weight_bytes += constant_bytes(lowering.graph(), *inner);
  }
  return true;
}

}  // namespace assay::backend::cuda
