#include "backend/reference/narrow.h"

#include <algorithm>

#include "base/error.h"
#include "graph/emulate.h"
#include "numerics/bf16.h"
#include "numerics/e4m3.h"
#include "numerics/fp16.h"

namespace assay::backend::reference {
namespace {

using graph::Precision;

template <typename Format>
void round_to(std::span<const float> numbers, float scale, std::span<float> out) {
  const float inverse = 1.0F / scale;
  std::ranges::transform(numbers, out.begin(), [=](float number) {
    return scale * Format::decode(Format::encode(number * inverse));
  });
}

void round_to(std::span<const float> numbers, const numerics::AffineU8& affine,
              std::span<float> out) {
  std::ranges::transform(numbers, out.begin(),
                         [&](float number) { return affine.decode(affine.encode(number)); });
}

}  // namespace

std::size_t narrow_inputs(const graph::Node& node) {
  if (node.precision == Precision::fp32) return 0;
  return std::holds_alternative<graph::Attention>(node.op) ? 3 : 1;
}

void narrow(const graph::Node& node, std::size_t input, std::span<const float> numbers,
            std::span<float> out) {
  switch (node.precision) {
    case Precision::fp32:
      break;
    case Precision::bf16:
      return round_to<numerics::Bf16>(numbers, 1.0F, out);
    case Precision::fp16:
    case Precision::nvfp4:
      return round_to<numerics::Fp16>(numbers, 1.0F, out);
    case Precision::fp8:
      return round_to<numerics::E4m3>(numbers, node.input_scales[input], out);
    case Precision::int8:
      return round_to(numbers, node.input_quantization, out);
  }
  fail(ErrorKind::internal, "layer '{}' is fp32: nothing is narrow", node.name);
}

void run(const graph::FakeQuantize& op, const Call& call) {
  const std::span<const float> numbers = call.inputs[0].numbers;
  const auto scale = static_cast<float>(op.scale);
  switch (op.format) {
    case graph::NumberFormat::fp16:
      return round_to<numerics::Fp16>(numbers, scale, call.out);
    case graph::NumberFormat::bf16:
      return round_to<numerics::Bf16>(numbers, scale, call.out);
    case graph::NumberFormat::e4m3:
      return round_to<numerics::E4m3>(numbers, scale, call.out);
    case graph::NumberFormat::affine_u8:
      return round_to(numbers, {scale, static_cast<std::uint8_t>(op.zero_point)}, call.out);
  }
}

std::vector<float> numbers_of(const graph::Constant& constant) {
  if (graph::is_code_type(constant.dtype)) return {};
  return graph::to_f32(constant);
}

bool has_narrow_weight(const graph::Node& node) {
  return node.precision != Precision::fp32 && !std::holds_alternative<graph::Attention>(node.op);
}

}  // namespace assay::backend::reference
