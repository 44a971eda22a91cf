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

template <typename T>
std::vector<std::byte> bytes_of_all(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span<const T>(numbers));
  return {bytes.begin(), bytes.end()};
}

/// The codes of an fp8 weight, as stored, and what their products are to be multiplied by.
void read_fp8(const graph::Graph& graph, const graph::Node& node, std::int64_t taps,
              std::int64_t channels, HostWeight& host) {
  const std::span<const std::byte> codes = graph.value(node.inputs[kWeightInput]).constant->bytes;
  host.rows = padded(taps_first(codes, host.n, taps), channels, host.k / taps);
  const float a_scale = node.input_scales.front();
  host.inverse_a_scale = 1.0F / a_scale;
  host.scale = constant_input(graph, node, kWeightScaleInput, "weight scale");
  host.scale.resize(static_cast<std::size_t>(host.n), host.scale.front());
  for (float& scale : host.scale) scale *= a_scale;
}

/// `groups` runs of `bytes` bytes each, `padded` bytes apart, zeros between them.
std::vector<std::byte> spread(std::span<const std::byte> runs, std::size_t bytes,
                              std::size_t padded) {
  const std::size_t count = runs.size() / bytes;
  std::vector<std::byte> out(count * padded);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(runs.begin() + static_cast<std::ptrdiff_t>(i * bytes), bytes,
                out.begin() + static_cast<std::ptrdiff_t>(i * padded));
  }
  return out;
}

std::vector<float> spread(const std::vector<float>& numbers, const HeadPadding& heads) {
  const auto width = static_cast<std::size_t>(heads.width);
  const auto wide = static_cast<std::size_t>(heads.padded);
  std::vector<float> out(numbers.size() / width * wide);
  for (std::size_t i = 0; i < numbers.size(); ++i) out[i / width * wide + i % width] = numbers[i];
  return out;
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

void refuse_int8(const graph::Node& node) {
  if (node.precision != graph::Precision::int8) return;
  fail(ErrorKind::unsupported,
       "{}: is int8, which the cuda backend has no kernels for: use cpu, or build with a recipe "
       "without int8",
       node.name);
}

HostWeight host_weight(const graph::Graph& graph, const graph::Node& node,
                       std::int64_t channels_padded) {
  const graph::Value& weight = graph.value(node.inputs[kWeightInput]);
  if (!weight.constant) constant_input(graph, node, kWeightInput, "weight");
  const graph::Dims& dims = weight.dims;
  const std::int64_t taps = dims.size() == 4 ? dims[2] * dims[3] : 1;
  HostWeight host;
  host.operand = operand_of(node.precision);
  host.n = static_cast<std::int32_t>(dims[0]);
  const std::int64_t channels = dims[1];
  const std::int64_t wide = std::max(channels, channels_padded);
  host.k = static_cast<std::int32_t>(wide * taps);
  host.bias = constant_input(graph, node, kBiasInput, "bias");
  if (host.operand == Store::e4m3) {
    read_fp8(graph, node, taps, channels, host);
    return host;
  }
  const std::vector<float> numbers =
      padded(channels_last(graph::weight_numbers(graph, node), dims[0], taps), channels, wide);
  if (host.operand == Store::f32) {
    host.rows = bytes_of_all(numbers);
  } else if (host.operand == Store::bf16) {
    host.rows = bytes_of_all(encoded<numerics::Bf16>(node, numbers));
  } else {
    host.rows = bytes_of_all(encoded<numerics::Fp16>(node, numbers));
  }
  return host;
}

HostWeight with_padded_heads(HostWeight weight, HeadPadding n_heads, HeadPadding k_heads) {
  const auto each = static_cast<std::size_t>(bytes_of(weight.operand));
  if (k_heads.width != k_heads.padded) {
    weight.rows = spread(weight.rows, static_cast<std::size_t>(k_heads.width) * each,
                         static_cast<std::size_t>(k_heads.padded) * each);
    weight.k = weight.k / k_heads.width * k_heads.padded;
  }
  if (n_heads.width != n_heads.padded) {
    const std::size_t row = static_cast<std::size_t>(weight.k) * each;
    weight.rows = spread(weight.rows, static_cast<std::size_t>(n_heads.width) * row,
                         static_cast<std::size_t>(n_heads.padded) * row);
    weight.n = weight.n / n_heads.width * n_heads.padded;
    weight.bias = spread(weight.bias, n_heads);
    weight.scale = spread(weight.scale, n_heads);
  }
  return weight;
}

PackedWeight pack_weight(const graph::Graph& graph, const graph::Node& node, ConstantPool& pool,
                         std::int64_t channels_padded, HeadPadding n_heads) {
  const HostWeight host =
      with_padded_heads(host_weight(graph, node, channels_padded), n_heads, HeadPadding{});
  PackedWeight packed;
  packed.operand = host.operand;
  packed.n = host.n;
  packed.k = host.k;
  packed.inverse_a_scale = host.inverse_a_scale;
  const auto each = static_cast<std::size_t>(bytes_of(host.operand));
  const std::size_t row = static_cast<std::size_t>(host.k) * each;
  constexpr std::size_t kUnit = kRowBytes;
  const std::size_t wide = (row + kUnit - 1) / kUnit * kUnit;
  packed.k_padded = static_cast<std::int32_t>(wide / each);
  packed.bias = pool.keep(std::span<const float>(host.bias));
  packed.scale = pool.keep(std::span<const float>(host.scale));
  packed.weight = pool.keep(std::span<const std::byte>(spread(host.rows, row, wide)));
  return packed;
}

std::vector<float> channels_last(std::span<const float> weight, std::int64_t outputs,
                                 std::int64_t taps) {
  return taps_first(weight, outputs, taps);
}

bool is_constant_or_none(const graph::Graph& graph, const graph::Node& node, std::size_t input) {
  const graph::ValueId id = graph::input_or_none(node, input);
  return id == graph::kNone || graph.value(id).constant.has_value();
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
