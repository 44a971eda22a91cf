#include "backend/cuda/operand.h"

namespace assay::backend::cuda {
namespace {

std::optional<Operand> fold_in(Lowering& lowering, graph::ValueId value);

/// Rows [begin, end) of it.
std::optional<Operand> fold_slice(Lowering& lowering, const graph::Node& node,
                                  const graph::Slice& op) {
  std::optional<Operand> operand = fold_in(lowering, node.inputs[0]);
  if (!operand || operand->source == Source::depthwise || operand->a.unfolded()) {
    return std::nullopt;
  }
  const std::int64_t count = op.end - op.begin;
  if (operand->first.block < 0) {
    operand->a = rows_of(operand->a, op.begin, count);
  } else if (op.begin > 0) {
    operand->a = rows_of(operand->a, op.begin - 1, count);
    operand->first = {};
  } else if (count == 1) {
    operand->a = operand->first;
    operand->first = {};
  } else {
    operand->a = rows_of(operand->a, 0, count - 1);
  }
  return operand;
}

std::optional<Operand> fold_node(Lowering& lowering, const graph::Node& node) {
  if (const auto* slice = std::get_if<graph::Slice>(&node.op)) {
    return fold_slice(lowering, node, *slice);
  }
  if (std::holds_alternative<graph::Concat>(node.op)) {
    Operand operand;
    operand.first = lowering.place_of(node.inputs[0]);
    operand.a = lowering.place_of(node.inputs[1]);
    return operand;
  }
  if (std::holds_alternative<graph::Conv2d>(node.op)) {
    Operand operand;
    operand.source = Source::depthwise;
    operand.a = lowering.ordered_place_of(node.inputs[0], node);
    operand.depthwise = &node;
    operand.act = act_of(std::get<graph::Conv2d>(node.op).activation);
    return operand;
  }
  std::optional<Operand> operand = fold_in(lowering, node.inputs[0]);
  if (!operand) return std::nullopt;
  if (std::holds_alternative<graph::Reshape>(node.op)) {
    return operand->a.unfolded() ? std::nullopt : operand;
  }
  if (std::holds_alternative<graph::LayerNorm>(node.op)) {
    if (operand->source != Source::rows) return std::nullopt;
    operand->source = Source::layer_norm;
    operand->norm = &node;
    return operand;
  }
  const auto* activate = std::get_if<graph::Activate>(&node.op);
  if (activate == nullptr || operand->norm == nullptr || operand->act != Act::none) {
    return std::nullopt;
  }
  operand->act = act_of(activate->activation);
  return operand;
}

/// Nothing where some of what was put off is nothing that a product does.
std::optional<Operand> fold_in(Lowering& lowering, graph::ValueId value) {
  if (const graph::ValueId inner = lowering.refolded(value); inner != graph::kNone) {
    std::optional<Operand> operand = fold_in(lowering, inner);
    if (operand) {
      operand->a.map_width = 0;
      operand->a.patch = 0;
    }
    return operand;
  }
  const graph::Node* const node = lowering.put_off(value);
  if (node == nullptr) {
    Operand operand;
    operand.a = lowering.place_of(value);
    return operand;
  }
  std::optional<Operand> operand = fold_node(lowering, *node);
  if (operand) operand->folded.push_back(node);
  return operand;
}

}  // namespace

Operand operand_of(Lowering& lowering, graph::ValueId value, const graph::Node& reader) {
  if (std::optional<Operand> operand = fold_in(lowering, value)) return *operand;
  Operand operand;
  operand.a = lowering.ordered_place_of(value, reader);
  return operand;
}

}  // namespace assay::backend::cuda
