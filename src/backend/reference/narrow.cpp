#include "backend/reference/narrow.h"

#include <algorithm>

#include "numerics/bf16.h"

namespace assay::backend::reference {
namespace {

float round_to_bf16(float number) { return numerics::Bf16::decode(numerics::Bf16::encode(number)); }

}  // namespace

std::size_t narrow_inputs(const graph::Node& node) {
  if (node.precision == graph::Precision::fp32) return 0;
  return std::holds_alternative<graph::Attention>(node.op) ? 3 : 1;
}

void narrow(const graph::Node& node, std::span<const float> numbers, std::span<float> out) {
  if (node.precision == graph::Precision::bf16) {
    std::ranges::transform(numbers, out.begin(), round_to_bf16);
    return;
  }
  const numerics::AffineU8& affine = node.input_quantization;
  std::ranges::transform(numbers, out.begin(),
                         [&](float number) { return affine.decode(affine.encode(number)); });
}

std::vector<float> numbers_of(const graph::Constant& constant) {
  if (constant.dtype != DType::i8) return graph::to_f32(constant);
  std::vector<float> codes;
  for (const std::byte code : constant.bytes) {
    codes.push_back(static_cast<float>(static_cast<std::int8_t>(code)));
  }
  return codes;
}

std::vector<float> narrow_weight(const graph::Graph& graph, const graph::Node& node) {
  const bool product = !std::holds_alternative<graph::Attention>(node.op);
  if (node.precision != graph::Precision::bf16 || !product) return {};
  const graph::Constant& stored = *graph.value(node.inputs[1]).constant;
  if (stored.dtype == DType::bf16) return {};
  std::vector<float> weight = graph::to_f32(stored);
  std::ranges::transform(weight, weight.begin(), round_to_bf16);
  return weight;
}

}  // namespace assay::backend::reference
