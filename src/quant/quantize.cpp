#include "quant/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "graph/passes.h"
#include "graph/rewrite.h"
#include "graph/serialize.h"
#include "numerics/bf16.h"
#include "quant/observe.h"

namespace assay::quant {
namespace {

using graph::kWeightInput;
using graph::Precision;

/// Below it a scale's inverse would not be a number; so small a range is as good as 0.
constexpr float kSmallestScale = std::numeric_limits<float>::min();

/// A weight in its narrow form.
struct NarrowWeight {
  graph::ValueId weight = graph::kNone;
  graph::ValueId scale = graph::kNone;  ///< at int8
};

using RangesByLayer = std::unordered_map<std::string_view, Range>;

RangesByLayer ranges_for(const graph::Graph& graph, const Calibration& calibration) {
  if (calibration.graph != graph::fingerprint(graph)) {
    fail(ErrorKind::bad_input,
         "the calibration was made of another network ({}, graph {:.12}) than this {}: make one of "
         "the fp32 bundle of the same checkpoint, built with the same options",
         calibration.architecture, calibration.graph, graph.name);
  }
  RangesByLayer ranges;
  for (const OperandStats& stats : calibration.operands) {
    if (stats.operand != "input") continue;
    ranges.emplace(stats.layer, range_of(stats, "max", Format::int8));
  }
  std::size_t found = 0;
  for (const graph::Node& node : graph.nodes) {
    if (!is_calibrated(node)) continue;
    if (!ranges.contains(node.name)) {
      fail(ErrorKind::bad_input, "the calibration has no entry for the layer '{}'", node.name);
    }
    ++found;
  }
  if (found == ranges.size()) return ranges;
  for (const OperandStats& stats : calibration.operands) {
    const bool known = std::ranges::any_of(graph.nodes, [&](const graph::Node& node) {
      return node.name == stats.layer && is_calibrated(node);
    });
    if (!known && stats.operand == "input") {
      fail(ErrorKind::bad_input,
           "the calibration has an entry for '{}', which is no linear layer or ungrouped "
           "convolution of {}",
           stats.layer, graph.name);
    }
  }
  fail(ErrorKind::bad_input, "the calibration has an entry twice");
}

graph::Constant bf16_constant(const graph::Value& value, std::span<const float> numbers) {
  std::vector<numerics::Bf16::Code> codes;
  codes.reserve(numbers.size());
  for (const float number : numbers) {
    codes.push_back(numerics::Bf16::encode(number));
    if (!std::isfinite(numerics::Bf16::decode(codes.back()))) {
      fail(ErrorKind::bad_input, "the weight '{}' holds {}, which is infinite in bf16", value.name,
           number);
    }
  }
  return graph::make_constant(DType::bf16, std::as_bytes(std::span(codes)));
}

/// Each channel's codes and the channel's scale.
float quantize_channel(std::span<const float> numbers, std::vector<std::int8_t>& codes) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  const float scale = largest / 127 < kSmallestScale ? 1.0F : largest / 127;
  for (const float number : numbers) {
    const double code = std::nearbyint(static_cast<double>(number) / scale);
    codes.push_back(static_cast<std::int8_t>(std::clamp(code, -127.0, 127.0)));
  }
  return scale;
}

/// Which values are the network's input, perhaps resized or with its numbers moved about.
std::vector<bool> picture_values(const graph::Graph& graph) {
  std::vector<bool> picture(graph.values.size(), false);
  picture[graph.input] = true;
  for (const graph::Node& node : graph.nodes) {
    const bool moves = std::holds_alternative<graph::Resize>(node.op) ||
                       std::holds_alternative<graph::Reshape>(node.op) ||
                       std::holds_alternative<graph::Transpose>(node.op) ||
                       std::holds_alternative<graph::Slice>(node.op);
    if (moves && picture[node.inputs[0]]) picture[node.output] = true;
  }
  return picture;
}

class Quantizer {
 public:
  Quantizer(const graph::Graph& graph, Precision precision, RangesByLayer ranges)
      : graph_(graph), precision_(precision), ranges_(std::move(ranges)) {}

  graph::Graph run() {
    const std::vector<bool> picture = picture_values(graph_);
    for (graph::Node& node : graph_.nodes) {
      const bool product = is_calibrated(node);
      if (product && precision_ == Precision::int8) {
        make_int8(node);
      } else if (product) {
        if (!picture[node.inputs[0]]) make_bf16(node);
      } else if (std::holds_alternative<graph::Attention>(node.op)) {
        node.precision = Precision::bf16;
      }
    }
    graph::remove_dead(graph_);  // the weights as they were
    graph::verify(graph_);
    return std::move(graph_);
  }

 private:
  void make_bf16(graph::Node& node) {
    node.inputs[kWeightInput] = narrow_weight(node).weight;
    node.precision = Precision::bf16;
  }

  void make_int8(graph::Node& node) {
    const graph::Dims& dims = graph_.value(node.inputs[kWeightInput]).dims;
    const std::int64_t depth = graph::elements(dims) / dims[0];
    if (depth > graph::kMaxInt8Depth) {
      fail(ErrorKind::unsupported, "layer '{}' adds up {} products; at int8 {} fit its sums",
           node.name, depth, graph::kMaxInt8Depth);
    }
    const NarrowWeight narrow = narrow_weight(node);
    node.inputs[kWeightInput] = narrow.weight;
    node.inputs.resize(graph::kWeightScaleInput + 1, graph::kNone);
    node.inputs[graph::kWeightScaleInput] = narrow.scale;
    node.input_quantization = affine_for(ranges_.at(node.name));
    node.precision = Precision::int8;
  }

  /// Made once for all nodes that share the weight.
  NarrowWeight narrow_weight(const graph::Node& node) {
    const graph::ValueId id = node.inputs[kWeightInput];
    const auto found = narrow_.find(id);
    if (found != narrow_.end()) return found->second;
    const graph::Value stored = graph_.value(id);
    const std::vector<float> numbers = graph::to_f32(*stored.constant);
    const NarrowWeight made =
        precision_ == Precision::int8
            ? int8_weight(stored, numbers)
            : NarrowWeight{graph::add_constant(graph_, stored.name + ".bf16", stored.dims,
                                               bf16_constant(stored, numbers)),
                           graph::kNone};
    narrow_.emplace(id, made);
    return made;
  }

  NarrowWeight int8_weight(const graph::Value& stored, std::span<const float> numbers) {
    const auto channels = static_cast<std::size_t>(stored.dims[0]);
    const std::size_t each = numbers.size() / channels;
    std::vector<std::int8_t> codes;
    codes.reserve(numbers.size());
    std::vector<float> scales;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      scales.push_back(quantize_channel(numbers.subspan(channel * each, each), codes));
    }
    return {graph::add_constant(graph_, stored.name + ".int8", stored.dims,
                                graph::make_constant(DType::i8, std::as_bytes(std::span(codes)))),
            graph::add_constant(graph_, stored.name + ".int8.scale", {stored.dims[0]},
                                graph::make_constant(std::move(scales)))};
  }

  graph::Graph graph_;
  Precision precision_;
  RangesByLayer ranges_;
  std::map<graph::ValueId, NarrowWeight> narrow_;
};

}  // namespace

graph::Graph quantize(const graph::Graph& graph, Precision precision,
                      const Calibration* calibration) {
  if ((precision == Precision::int8) != (calibration != nullptr)) {
    fail(ErrorKind::bad_input, "precision {} {}", graph::name(precision),
         calibration == nullptr ? "needs a calibration" : "takes no calibration");
  }
  for (const graph::Node& node : graph.nodes) {
    if (node.precision != Precision::fp32) {
      fail(ErrorKind::bad_input, "layer '{}' is {} already", node.name,
           graph::name(node.precision));
    }
  }
  if (precision == Precision::fp32) return graph;
  RangesByLayer ranges;
  if (calibration != nullptr) ranges = ranges_for(graph, *calibration);
  return Quantizer(graph, precision, std::move(ranges)).run();
}

}  // namespace assay::quant
