#include "backend/cuda/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "graph/emulate.h"
#include "graph/rewrite.h"
#include "numerics/bf16.h"
#include "numerics/fp16.h"

namespace assay::backend::cuda {
namespace {

using graph::kBiasInput;
using graph::kWeightInput;
using graph::kWeightScaleInput;

/// [O][rest][taps] as [O][taps][rest].
template <typename T>
std::vector<T> taps_first(std::span<const T> weight, std::int64_t outputs, std::int64_t taps) {
  const auto each = weight.size() / static_cast<std::size_t>(outputs);
  const auto count = static_cast<std::size_t>(taps);
  const std::size_t rest = each / count;
  std::vector<T> out(weight.size());
  for (std::size_t o = 0; o < weight.size(); o += each) {
    for (std::size_t i = 0; i < rest; ++i) {
      for (std::size_t t = 0; t < count; ++t) out[o + t * rest + i] = weight[o + i * count + t];
    }
  }
  return out;
}

/// [n][channels] as [n][padded] with zeros behind.
template <typename T>
std::vector<T> padded(std::vector<T> numbers, std::int64_t channels, std::int64_t padded) {
  if (channels == padded) return numbers;
  std::vector<T> wide(numbers.size() / static_cast<std::size_t>(channels) *
                      static_cast<std::size_t>(padded));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto each = static_cast<std::size_t>(channels);
    wide[i / each * static_cast<std::size_t>(padded) + i % each] = numbers[i];
  }
  return wide;
}

/// Rows of `k` codes as rows of `k_padded`.
template <typename Code>
Kept keep_rows(std::span<const Code> codes, const PackedWeight& packed, ConstantPool& pool) {
  const auto k = static_cast<std::size_t>(packed.k);
  const auto padded = static_cast<std::size_t>(packed.k_padded);
  std::vector<Code> rows(static_cast<std::size_t>(packed.n) * padded);
  for (std::size_t n = 0; n < static_cast<std::size_t>(packed.n); ++n) {
    std::copy_n(codes.begin() + static_cast<std::ptrdiff_t>(n * k), k,
                rows.begin() + static_cast<std::ptrdiff_t>(n * padded));
  }
  return pool.keep(std::as_bytes(std::span<const Code>(rows)));
}

template <typename Format>
std::vector<typename Format::Code> encoded(const graph::Node& node,
                                           std::span<const float> numbers) {
  std::vector<typename Format::Code> codes;
  codes.reserve(numbers.size());
  for (const float number : numbers) {
    codes.push_back(Format::encode(number));
    if (std::isfinite(number) && !std::isfinite(Format::decode(codes.back()))) {
      fail(ErrorKind::unsupported,
           "{}: its weight has the number {}, which fp16 can't hold, and the cuda backend computes "
           "{} with fp16 operands: use cpu",
           node.name, number, graph::name(node.precision));
    }
  }
  return codes;
}

/// The codes of an fp8 weight, as stored, and what their products are to be multiplied by.
void pack_fp8(const graph::Graph& graph, const graph::Node& node, std::int64_t taps,
              std::int64_t channels, PackedWeight& packed, ConstantPool& pool) {
  const std::span<const std::byte> codes = graph.value(node.inputs[kWeightInput]).constant->bytes;
  packed.weight = keep_rows<std::byte>(
      padded(taps_first(codes, packed.n, taps), channels, packed.k / taps), packed, pool);
  const float a_scale = node.input_scales.front();
  packed.inverse_a_scale = 1.0F / a_scale;
  std::vector<float> scales = constant_input(graph, node, kWeightScaleInput, "weight scale");
  scales.resize(static_cast<std::size_t>(packed.n), scales.front());
  for (float& scale : scales) scale *= a_scale;
  packed.scale = pool.keep(std::span<const float>(scales));
}

}  // namespace

Store operand_of(graph::Precision precision) {
  switch (precision) {
    case graph::Precision::fp32:
      return Store::f32;
    case graph::Precision::bf16:
      return Store::bf16;
    case graph::Precision::fp16:
    case graph::Precision::nvfp4:
      return Store::f16;
    case graph::Precision::fp8:
      return Store::e4m3;
    case graph::Precision::int8:
      break;
  }
  fail(ErrorKind::internal, "no kernel of the cuda backend takes {}", graph::name(precision));
}

PackedWeight pack_weight(const graph::Graph& graph, const graph::Node& node, ConstantPool& pool,
                         std::int64_t channels_padded) {
  if (node.precision == graph::Precision::int8) {
    fail(ErrorKind::unsupported,
         "{}: is int8, which the cuda backend has no kernels for: use cpu, or build with a recipe "
         "without int8",
         node.name);
  }
  const graph::Value& weight = graph.value(node.inputs[kWeightInput]);
  if (!weight.constant) constant_input(graph, node, kWeightInput, "weight");
  const graph::Dims& dims = weight.dims;
  const std::int64_t taps = dims.size() == 4 ? dims[2] * dims[3] : 1;
  PackedWeight packed;
  packed.operand = operand_of(node.precision);
  packed.n = static_cast<std::int32_t>(dims[0]);
  const std::int64_t channels = dims[1];
  const std::int64_t wide = std::max(channels, channels_padded);
  packed.k = static_cast<std::int32_t>(wide * taps);
  const auto unit = static_cast<std::int32_t>(kRowBytes / bytes_of(packed.operand));
  packed.k_padded = (packed.k + unit - 1) / unit * unit;
  packed.bias = pool.keep(constant_input(graph, node, kBiasInput, "bias"));
  if (packed.operand == Store::e4m3) {
    pack_fp8(graph, node, taps, channels, packed, pool);
    return packed;
  }
  const std::vector<float> numbers =
      padded(channels_last(graph::weight_numbers(graph, node), dims[0], taps), channels, wide);
  if (packed.operand == Store::f32) {
    packed.weight = keep_rows<float>(numbers, packed, pool);
  } else if (packed.operand == Store::bf16) {
    packed.weight = keep_rows<std::uint16_t>(encoded<numerics::Bf16>(node, numbers), packed, pool);
  } else {
    packed.weight = keep_rows<std::uint16_t>(encoded<numerics::Fp16>(node, numbers), packed, pool);
  }
  return packed;
}

std::vector<float> channels_last(std::span<const float> weight, std::int64_t outputs,
                                 std::int64_t taps) {
  return taps_first(weight, outputs, taps);
}

std::vector<float> constant_input(const graph::Graph& graph, const graph::Node& node,
                                  std::size_t input, std::string_view role) {
  const graph::ValueId id = graph::input_or_none(node, input);
  if (id == graph::kNone) return {};
  const graph::Value& value = graph.value(id);
  if (!value.constant) {
    fail(ErrorKind::unsupported,
         "{}: its {} '{}' is computed; the cuda backend needs it to be a constant", node.name, role,
         value.name);
  }
  return graph::to_f32(*value.constant);
}

}  // namespace assay::backend::cuda
