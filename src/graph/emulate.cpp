#include "graph/emulate.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "graph/passes.h"
#include "graph/rewrite.h"
#include "numerics/bf16.h"
#include "numerics/e2m1.h"
#include "numerics/fp16.h"

namespace assay::graph {
namespace {

template <typename Format>
std::vector<float> rounded(std::vector<float> numbers) {
  for (float& number : numbers) number = Format::decode(Format::encode(number));
  return numbers;
}

std::vector<float> int8_codes(const Constant& constant) {
  std::vector<float> codes;
  codes.reserve(constant.bytes.size());
  for (const std::byte code : constant.bytes) {
    codes.push_back(static_cast<float>(static_cast<std::int8_t>(code)));
  }
  return codes;
}

/// Two codes a byte, the first in the lower half.
std::vector<float> e2m1_codes(const Constant& constant, std::int64_t count) {
  constexpr unsigned kBits = 4;
  constexpr unsigned kMask = 0xF;
  std::vector<float> codes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto pair = static_cast<unsigned>(constant.bytes[i / 2]);
    codes[i] = numerics::E2m1::decode(
        static_cast<numerics::E2m1::Code>((i % 2 == 0 ? pair : pair >> kBits) & kMask));
  }
  return codes;
}

/// One scale in all, or one a channel.
void scale_channels(std::vector<float>& numbers, std::span<const float> scales,
                    std::size_t channels) {
  const std::size_t each = numbers.size() / channels;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] *= scales.size() == 1 ? scales[0] : scales[i / each];
  }
}

void scale_blocks(std::vector<float>& numbers, std::span<const float> block_scales,
                  float tensor_scale, std::size_t channels) {
  const std::size_t each = numbers.size() / channels;
  constexpr auto kEach = static_cast<std::size_t>(kBlock);
  const std::size_t blocks = (each + kEach - 1) / kEach;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t block = i / each * blocks + i % each / kEach;
    numbers[i] *= block_scales[block] * tensor_scale;
  }
}

class Emulator {
 public:
  Emulator(Graph& graph, std::span<const Precision> precisions)
      : graph_(graph), precisions_(precisions) {
    for (const Node& node : graph.nodes) names_.insert(node.name);
    for (const Value& value : graph.values) names_.insert(value.name);
  }

  void run() {
    for (Node node : std::exchange(graph_.nodes, {})) {
      const bool wanted = std::ranges::find(precisions_, node.precision) != precisions_.end();
      if (wanted && node.precision != Precision::fp32) widen(node);
      graph_.nodes.push_back(std::move(node));
    }
    remove_dead(graph_);  // the weights as they were
    verify(graph_);
  }

 private:
  void widen(Node& node) {
    if (std::holds_alternative<Attention>(node.op)) {
      if (node.precision == Precision::fp16) node.precision = Precision::fp32;
      return;
    }
    node.inputs[kWeightInput] = wide_weight(node);
    if (node.inputs.size() > kWeightScaleInput) node.inputs.resize(kWeightScaleInput);
    switch (node.precision) {
      case Precision::bf16:
        node.inputs[0] = rounded_input(node, {NumberFormat::bf16, 1.0, 0});
        break;
      case Precision::int8:
        node.inputs[0] =
            rounded_input(node, {NumberFormat::affine_u8, node.input_quantization.scale,
                                 node.input_quantization.zero_point});
        break;
      case Precision::fp8:
        node.inputs[0] = rounded_input(node, {NumberFormat::e4m3, node.input_scales[0], 0});
        break;
      case Precision::fp32:
      case Precision::fp16:
      case Precision::nvfp4:
        break;
    }
    node.precision = Precision::fp32;
    node.input_quantization = {};
    node.input_scales.clear();
  }

  /// Made once for all nodes that take the weight as the same numbers.
  ValueId wide_weight(const Node& node) {
    const ValueId id = node.inputs[kWeightInput];
    const auto key = std::tuple(id, node.precision, input_or_none(node, kWeightScaleInput),
                                input_or_none(node, kTensorScaleInput));
    if (const auto found = weights_.find(key); found != weights_.end()) return found->second;
    const ValueId made = add_constant(graph_, graph_.value(id).name + ".wide",
                                      graph_.value(id).dims, weight_numbers(graph_, node));
    return weights_.emplace(key, made).first->second;
  }

  ValueId rounded_input(const Node& node, const FakeQuantize& op) {
    const ValueId id = node.inputs[0];
    const auto key = std::tuple(id, op.format, op.scale, op.zero_point);
    if (const auto found = inputs_.find(key); found != inputs_.end()) return found->second;
    const Value& input = graph_.value(id);
    const std::string name = unique(node.name + ".fake_quantize");
    Value made{name, input.dims, std::nullopt};
    graph_.values.push_back(std::move(made));
    const auto output = static_cast<ValueId>(graph_.values.size() - 1);
    graph_.nodes.push_back({name, op, {id}, output});
    return inputs_.emplace(key, output).first->second;
  }

  /// No layer of a checkpoint is called so, but a graph that came out of a file may say anything.
  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += '_';
    return name;
  }

  Graph& graph_;
  std::span<const Precision> precisions_;
  std::set<std::string> names_;  ///< of nodes and values
  std::map<std::tuple<ValueId, Precision, ValueId, ValueId>, ValueId> weights_;
  std::map<std::tuple<ValueId, NumberFormat, double, int>, ValueId> inputs_;
};

}  // namespace

std::vector<float> weight_numbers(const Graph& graph, const Node& node) {
  const Value& weight = graph.value(node.inputs[kWeightInput]);
  const auto channels = static_cast<std::size_t>(weight.dims[0]);
  const auto scales = [&](std::size_t input) {
    return to_f32(*graph.value(node.inputs[input]).constant);
  };
  std::vector<float> numbers;
  switch (node.precision) {
    case Precision::fp32:
      return to_f32(*weight.constant);
    case Precision::fp16:
      return rounded<numerics::Fp16>(to_f32(*weight.constant));
    case Precision::bf16:
      return rounded<numerics::Bf16>(to_f32(*weight.constant));
    case Precision::int8:
      numbers = int8_codes(*weight.constant);
      scale_channels(numbers, scales(kWeightScaleInput), channels);
      return numbers;
    case Precision::fp8:
      numbers = to_f32(*weight.constant);
      scale_channels(numbers, scales(kWeightScaleInput), channels);
      return numbers;
    case Precision::nvfp4:
      numbers = e2m1_codes(*weight.constant, elements(weight.dims));
      scale_blocks(numbers, scales(kWeightScaleInput), scales(kTensorScaleInput)[0], channels);
      return numbers;
  }
  fail(ErrorKind::internal, "layer '{}' has no precision", node.name);
}

void emulate(Graph& graph, std::span<const Precision> precisions) {
  Emulator(graph, precisions).run();
}

}  // namespace assay::graph
