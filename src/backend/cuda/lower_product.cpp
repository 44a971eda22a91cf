/// Linear layers and convolutions.
#include <algorithm>

#include "backend/cuda/lowering.h"
#include "backend/cuda/operand.h"
#include "backend/cuda/padded_image.h"
#include "backend/cuda/product_step.h"
#include "backend/cuda/weights.h"
#include "backend/flops.h"
#include "base/error.h"
#include "graph/rewrite.h"

namespace assay::backend::cuda {
namespace {

using graph::kBiasInput;
using graph::kResidualInput;
using graph::kWeightInput;

}  // namespace

Window window_of(const Lowering& lowering, const graph::Node& node) {
  const auto& op = std::get<graph::Conv2d>(node.op);
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const graph::Dims& out = lowering.dims(node.output);
  const graph::Dims& weight = lowering.dims(node.inputs[kWeightInput]);
  Window window;
  window.in_height = static_cast<std::int32_t>(in[0]);
  window.in_width = static_cast<std::int32_t>(in[1]);
  window.channels = static_cast<std::int32_t>(in[2]);
  window.out_width = static_cast<std::int32_t>(out[1]);
  window.kernel_height = static_cast<std::int32_t>(weight[2]);
  window.kernel_width = static_cast<std::int32_t>(weight[3]);
  window.stride_y = op.stride[0];
  window.stride_x = op.stride[1];
  window.pad_y = op.padding[0];
  window.pad_x = op.padding[1];
  window.dilation_y = op.dilation[0];
  window.dilation_x = op.dilation[1];
  return window;
}

namespace {

/// [C, 1, kh, kw] as [kh × kw][C].
std::vector<float> depthwise_weight(const Lowering& lowering, const graph::Node& node) {
  const graph::Dims& dims = lowering.dims(node.inputs[kWeightInput]);
  return channels_last(constant_input(lowering.graph(), node, kWeightInput, "weight"), 1,
                       dims[2] * dims[3]);
}

/// What the operand computes itself, as the product's fields.
void set_source(Lowering& lowering, const Operand& operand, ProductStep& step) {
  Product& product = step.product;
  product.source = operand.source;
  product.source_act = operand.act;
  product.has_first = operand.first.block >= 0 ? 1 : 0;
  step.a = operand.a;
  step.first = operand.first;
  if (operand.norm != nullptr) {
    const auto& norm = std::get<graph::LayerNorm>(operand.norm->op);
    product.epsilon = static_cast<float>(norm.epsilon);
    step.norm = operand.norm;
  }
  if (operand.depthwise != nullptr) {
    product.window = window_of(lowering, *operand.depthwise);
    step.depthwise_weight = lowering.constants().keep(
        std::span<const float>(depthwise_weight(lowering, *operand.depthwise)));
    step.depthwise_bias = lowering.keep(*operand.depthwise, kBiasInput, "bias");
  }
}

std::string_view name(Source source) {
  constexpr std::array<std::string_view, 4> kNames{"", " layer_norm", " convolution", " depthwise"};
  return kNames[static_cast<std::size_t>(source)];
}

/// The residual, in the order of the operand's rows; both in the value's own where they differ.
Place residual_of(Lowering& lowering, const graph::Node& node, Operand& operand) {
  const graph::ValueId id = graph::input_or_none(node, kResidualInput);
  if (id == graph::kNone) return {};
  const Place place = lowering.place_of(id);
  if (same_order(place, operand.a)) return place;
  operand.a = lowering.ordered(operand.a, node);
  return lowering.ordered(place, node);
}

void add_product(Lowering& lowering, const graph::Node& node, Operand operand, ProductStep step,
                 graph::Activation activation, std::int64_t channels_padded = 0) {
  refuse_int8(node);
  step.node = &node;
  step.channels_padded = channels_padded;
  step.residual = residual_of(lowering, node, operand);
  set_source(lowering, operand, step);
  step.out = lowering.place_output(node, operand.a);
  Product& product = step.product;
  const graph::Dims& weight = lowering.dims(node.inputs[kWeightInput]);
  product.rows = static_cast<std::int32_t>(step.out.rows);
  product.n = static_cast<std::int32_t>(weight[0]);
  product.k = static_cast<std::int32_t>(graph::elements(weight) / weight[0] / weight[1] *
                                        std::max(weight[1], channels_padded));
  product.operand = operand_of(node.precision);
  if (product.operand == Store::e4m3) product.inverse_a_scale = 1.0F / node.input_scales.front();
  product.act = act_of(activation);
  product.has_residual = step.residual.block >= 0 ? 1 : 0;
  Step& added = lowering.add_step(
      node, fmt::format("product{} {}", name(product.source), name(product.operand)),
      {step.a, step.first, step.residual}, {step.out}, {});
  added.product = step;
  for (const graph::Node* const folded : operand.folded) {
    added.info.flops += count_flops(lowering.graph(), *folded);
    added.info.weight_bytes += constant_bytes(lowering.graph(), *folded);
  }
}

/// A convolution of all channels with all as one product: its rows are output pixels.
void lower_dense(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op) {
  ProductStep step;
  Operand operand;
  std::int64_t channels_padded = 0;
  if (is_pointwise(lowering.graph(), node)) {
    operand = operand_of(lowering, node.inputs[0], node);
    operand.a = lowering.ordered(operand.a, node);
  } else {
    operand.source = Source::convolution;
    operand.a = lowering.ordered_place_of(node.inputs[0], node);
    Window& window = step.product.window;
    window = window_of(lowering, node);
    if (lowering.is_padded(node.inputs[0])) {
      channels_padded = operand.a.row_stride;
      window.channels = static_cast<std::int32_t>(channels_padded);
      if (is_patchwise(lowering.graph(), node)) {
        operand.a.row_stride *= window.kernel_width;
        window = merged_across(window);
      }
    }
  }
  add_product(lowering, node, std::move(operand), step, op.activation, channels_padded);
}

void lower_grouped(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op) {
  const bool depthwise = is_depthwise(lowering.graph(), node);
  const Place in = lowering.ordered_place_of(node.inputs[0], node);
  const graph::ValueId id = graph::input_or_none(node, kResidualInput);
  const Place residual = id == graph::kNone ? Place{} : lowering.ordered_place_of(id, node);
  const Place out = lowering.place_output(node);
  Grouped grouped;
  grouped.window = window_of(lowering, node);
  grouped.out_rows = static_cast<std::int32_t>(out.rows);
  grouped.out_channels = static_cast<std::int32_t>(out.width);
  grouped.groups = op.groups;
  grouped.depthwise = depthwise ? 1 : 0;
  grouped.act = act_of(op.activation);
  grouped.has_residual = residual.block >= 0 ? 1 : 0;
  const Kept weight =
      depthwise
          ? lowering.constants().keep(std::span<const float>(depthwise_weight(lowering, node)))
          : lowering.keep(node, kWeightInput, "weight");
  const Kept bias = lowering.keep(node, kBiasInput, "bias");
  lowering.add_step(node, depthwise ? "depthwise" : "grouped", {in, residual}, {out},
                    [=](const Addresses& at) {
                      Grouped now = grouped;
                      now.in = at.view(in);
                      now.residual = at.view(residual);
                      now.out = at.view(out);
                      now.weight = at.kept(weight);
                      now.bias = at.kept(bias);
                      return Instruction(now);
                    });
}

}  // namespace

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op) {
  if (op.groups == 1) {
    lower_dense(lowering, node, op);
  } else {
    lower_grouped(lowering, node, op);
  }
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Linear& op) {
  add_product(lowering, node, operand_of(lowering, node.inputs[0], node), {}, op.activation);
}

}  // namespace assay::backend::cuda
