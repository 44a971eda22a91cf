#include "graph/verify_precision.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/rewrite.h"

namespace assay::graph {
namespace {

bool is_i8(const Value& value) { return value.constant && value.constant->dtype == DType::i8; }

/// Kernels multiply by the inverse, so that must be a number too.
bool is_scale(float number) {
  return number > 0 && std::isfinite(number) && std::isfinite(1 / number);
}

std::string stray_i8(const Graph& graph, const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone || !is_i8(graph.value(node.inputs[i]))) continue;
    if (node.precision == Precision::int8 && i == kWeightInput) continue;
    return fmt::format("its input '{}' is I8, which only an int8 node's weight may be",
                       graph.value(node.inputs[i]).name);
  }
  return "";
}

std::string weight_problem(const Value& weight) {
  if (!is_i8(weight)) {
    return fmt::format("it is int8, but its weight '{}' is {} and not I8", weight.name,
                       name(weight.constant->dtype));
  }
  const std::int64_t depth = elements(weight.dims) / weight.dims[0];
  if (depth > kMaxInt8Depth) {
    return fmt::format("it is int8 and adds up {} products, {} fit an int32", depth, kMaxInt8Depth);
  }
  if (std::ranges::find(weight.constant->bytes, std::byte{0x80}) != weight.constant->bytes.end()) {
    return fmt::format("its weight '{}' holds -128; int8 weights are -127 to 127", weight.name);
  }
  return "";
}

std::string scales_problem(const Value& scales) {
  if (scales.constant->dtype != DType::f32) {
    return fmt::format("its weight scales '{}' are {} and not F32", scales.name,
                       name(scales.constant->dtype));
  }
  for (const float scale : to_f32(*scales.constant)) {
    if (!is_scale(scale)) {
      return fmt::format("its weight scales '{}' hold {}; a scale is above 0 and finite",
                         scales.name, scale);
    }
  }
  return "";
}

std::string int8_problem(const Graph& graph, const Node& node) {
  if (!is_scale(node.input_quantization.scale)) {
    return fmt::format("its input scale is {}; a scale is above 0 and finite",
                       node.input_quantization.scale);
  }
  const ValueId scales = input_or_none(node, kWeightScaleInput);
  if (scales == kNone) return "it is int8, but has no weight scales";
  const std::string problem = weight_problem(graph.value(node.inputs[kWeightInput]));
  return problem.empty() ? scales_problem(graph.value(scales)) : problem;
}

bool is_product(const Node& node) {
  return std::holds_alternative<Conv2d>(node.op) || std::holds_alternative<Linear>(node.op);
}

}  // namespace

std::string precision_problem(const Graph& graph, const Node& node) {
  if (!can_have(node.op, node.precision)) {
    return fmt::format(
        "{} cannot be {}",
        std::holds_alternative<Conv2d>(node.op) ? "a grouped conv2d" : operator_name(node.op),
        name(node.precision));
  }
  if (std::string stray = stray_i8(graph, node); !stray.empty()) return stray;
  if (node.precision == Precision::int8) return int8_problem(graph, node);
  if (is_product(node) && input_or_none(node, kWeightScaleInput) != kNone) {
    return fmt::format("it is {}, but has weight scales, which are for int8", name(node.precision));
  }
  if (node.input_quantization != numerics::AffineU8{}) {
    return fmt::format("it is {}, but has an input scale, which is for int8", name(node.precision));
  }
  return "";
}

}  // namespace assay::graph
