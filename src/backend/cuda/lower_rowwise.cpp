/// Operators that work number by number or row by row: rows keep the order that they are in.
#include <cmath>
#include <utility>

#include "backend/cuda/lowering.h"
#include "backend/cuda/weights.h"
#include "base/error.h"

namespace assay::backend::cuda {
namespace {

void add_rows(Lowering& lowering, const graph::Node& node, std::string_view tactic, Rowwise rows,
              Kept weight = {}, Kept bias = {}) {
  const Place in = lowering.place_of(node.inputs[0]);
  const Place out = lowering.place_output(node, in);
  rows.rows = static_cast<std::int32_t>(in.rows);
  rows.width = static_cast<std::int32_t>(in.width);
  lowering.add_step(node, tactic, {in}, {out}, [=](const Addresses& at) {
    Rowwise now = rows;
    now.in = at.view(in);
    now.out = at.view(out);
    now.weight = at.kept(weight);
    now.bias = at.kept(bias);
    return Instruction(now);
  });
}

/// One operand may be a suffix of the other's dims, and then repeats.
void add_binary(Lowering& lowering, const graph::Node& node, Combine combine) {
  graph::ValueId large = node.inputs[0];
  graph::ValueId small = node.inputs[1];
  if (graph::elements(lowering.dims(large)) < graph::elements(lowering.dims(small))) {
    std::swap(large, small);
  }
  Place a = lowering.place_of(large);
  Place b = lowering.place_of(small);
  if (!same_order(a, b) && b.rows > 1) {
    a = lowering.ordered(a, node);
    b = lowering.ordered(b, node);
  }
  const Place out = lowering.place_output(node, a);
  Binary binary;
  binary.combine = combine;
  binary.rows = static_cast<std::int32_t>(a.rows);
  binary.width = static_cast<std::int32_t>(a.width);
  binary.b_rows = static_cast<std::int32_t>(b.rows);
  binary.b_width = static_cast<std::int32_t>(b.width);
  lowering.add_step(node, "binary", {a, b}, {out}, [=](const Addresses& at) {
    Binary now = binary;
    now.a = at.view(a);
    now.b = at.view(b);
    now.out = at.view(out);
    return Instruction(now);
  });
}

Store format_of(graph::NumberFormat format) {
  switch (format) {
    case graph::NumberFormat::fp16:
      return Store::f16;
    case graph::NumberFormat::bf16:
      return Store::bf16;
    case graph::NumberFormat::e4m3:
      return Store::e4m3;
    case graph::NumberFormat::affine_u8:
      return Store::u8;
  }
  fail(ErrorKind::internal, "no kernel rounds to the format {}", static_cast<int>(format));
}

}  // namespace

void lower_node(Lowering& lowering, const graph::Node& node, const graph::LayerNorm& op) {
  Rowwise rows;
  rows.kind = RowKind::layer_norm;
  rows.epsilon = static_cast<float>(op.epsilon);
  add_rows(lowering, node, "layer_norm", rows, lowering.keep(node, 1, "weight"),
           lowering.keep(node, 2, "bias"));
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::BatchNorm& op) {
  const auto input = [&](std::size_t index, std::string_view role) {
    return constant_input(lowering.graph(), node, index, role);
  };
  const std::vector<float> weight = input(1, "weight");
  const std::vector<float> bias = input(2, "bias");
  const std::vector<float> mean = input(3, "running_mean");
  const std::vector<float> variance = input(4, "running_var");
  std::vector<float> scale(weight.size());
  std::vector<float> shift(weight.size());
  for (std::size_t c = 0; c < weight.size(); ++c) {
    const double factor = weight[c] / std::sqrt(variance[c] + op.epsilon);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(bias[c] - mean[c] * factor);
  }
  Rowwise rows;
  rows.kind = RowKind::affine;
  add_rows(lowering, node, "affine", rows, lowering.constants().keep(std::span<const float>(scale)),
           lowering.constants().keep(std::span<const float>(shift)));
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Activate& op) {
  Rowwise rows;
  rows.kind = RowKind::activate;
  rows.act = act_of(op.activation);
  add_rows(lowering, node, "activate", rows);
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Softmax&) {
  Rowwise rows;
  rows.kind = RowKind::softmax;
  add_rows(lowering, node, "softmax", rows);
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::FakeQuantize& op) {
  Rowwise rows;
  rows.kind = RowKind::fake_quantize;
  rows.format = format_of(op.format);
  rows.scale = static_cast<float>(op.scale);
  rows.zero_point = op.zero_point;
  add_rows(lowering, node, "fake_quantize", rows);
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Add&) {
  add_binary(lowering, node, Combine::add);
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Mul&) {
  add_binary(lowering, node, Combine::mul);
}

}  // namespace assay::backend::cuda
