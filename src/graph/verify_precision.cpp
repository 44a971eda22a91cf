#include "graph/verify_precision.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/rewrite.h"

namespace assay::graph {
namespace {

constexpr std::size_t kAttentionInputs = 3;

/// Kernels multiply by the inverse, so that must be a number too.
bool is_scale(float number) {
  return number > 0 && std::isfinite(number) && std::isfinite(1 / number);
}

/// The type of codes that the node's weight has; F32 where it has none.
DType code_type(Precision precision) {
  if (precision == Precision::int8) return DType::i8;
  return precision == Precision::nvfp4 ? DType::f4 : DType::f32;
}

std::string stray_codes(const Graph& graph, const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone) continue;
    const Value& value = graph.value(node.inputs[i]);
    if (!value.constant || !is_code_type(value.constant->dtype)) continue;
    if (value.constant->dtype == code_type(node.precision) && i == kWeightInput) continue;
    return fmt::format("its input '{}' is {}, which only {} node's weight may be", value.name,
                       name(value.constant->dtype),
                       value.constant->dtype == DType::i8 ? "an int8" : "an nvfp4");
  }
  return "";
}

/// What is wrong with the dtype of a constant.
std::string type_problem(const Node& node, std::string_view what, const Value& value,
                         DType wanted) {
  if (value.constant->dtype == wanted) return "";
  return fmt::format("it is {}, but the type of its {} '{}' is {} and not {}", name(node.precision),
                     what, value.name, name(value.constant->dtype), name(wanted));
}

std::string int8_weight_problem(const Value& weight) {
  const std::int64_t depth = elements(weight.dims) / weight.dims[0];
  if (depth > kMaxInt8Depth) {
    return fmt::format("it is int8 and adds up {} products, {} fit an int32", depth, kMaxInt8Depth);
  }
  if (std::ranges::find(weight.constant->bytes, std::byte{0x80}) != weight.constant->bytes.end()) {
    return fmt::format("its weight '{}' holds -128; int8 weights are -127 to 127", weight.name);
  }
  return "";
}

std::string fp8_weight_problem(const Value& weight) {
  constexpr std::byte kSign{0x80};
  constexpr std::byte kNan{0x7F};
  for (const std::byte code : weight.constant->bytes) {
    if ((code & ~kSign) == kNan) return fmt::format("its weight '{}' holds NaN", weight.name);
  }
  return "";
}

/// Scales of F32: one in all, or one an output channel.
std::string scales_problem(const Value& scales, std::int64_t channels, bool one_is_enough) {
  const bool fits = scales.dims == Dims{channels} || (one_is_enough && scales.dims == Dims{1});
  if (!fits) {
    return fmt::format("its weight scales '{}' are {}, [{}]{} is needed", scales.name,
                       to_string(scales.dims), channels, one_is_enough ? " or [1]" : "");
  }
  for (const float scale : to_f32(*scales.constant)) {
    if (!is_scale(scale)) {
      return fmt::format("its weight scales '{}' hold {}; a scale is above 0 and finite",
                         scales.name, scale);
    }
  }
  return "";
}

std::string block_scales_problem(const Value& scales) {
  if (scales.dims.size() != 2) {
    return fmt::format("its block scales '{}' are {}, one a block of each channel is needed",
                       scales.name, to_string(scales.dims));
  }
  for (const float scale : to_f32(*scales.constant)) {
    if (!(scale >= 0)) {
      return fmt::format("its block scales '{}' hold {}; they are 0 or more", scales.name, scale);
    }
  }
  return "";
}

std::string nvfp4_problem(const Graph& graph, const Node& node, const Value& scales) {
  const ValueId tensor = input_or_none(node, kTensorScaleInput);
  if (tensor == kNone) return "it is nvfp4, but has no tensor scale";
  std::string problem = type_problem(node, "block scales", scales, DType::f8_e4m3);
  if (problem.empty()) problem = block_scales_problem(scales);
  if (problem.empty()) {
    problem = type_problem(node, "tensor scale", graph.value(tensor), DType::f32);
  }
  return problem.empty() ? scales_problem(graph.value(tensor), 1, true) : problem;
}

/// What the formats with stored scales must agree on.
std::string scaled_problem(const Graph& graph, const Node& node) {
  const ValueId id = input_or_none(node, kWeightScaleInput);
  if (id == kNone) return fmt::format("it is {}, but has no weight scales", name(node.precision));
  const Value& weight = graph.value(node.inputs[kWeightInput]);
  const Value& scales = graph.value(id);
  const bool int8 = node.precision == Precision::int8;
  const bool fp8 = node.precision == Precision::fp8;
  std::string problem =
      type_problem(node, "weight", weight, fp8 ? DType::f8_e4m3 : code_type(node.precision));
  if (!problem.empty()) return problem;
  if (node.precision == Precision::nvfp4) return nvfp4_problem(graph, node, scales);
  if (input_or_none(node, kTensorScaleInput) != kNone) {
    return fmt::format("it is {}, but has a tensor scale, which is for nvfp4",
                       name(node.precision));
  }
  problem = int8 ? int8_weight_problem(weight) : fp8_weight_problem(weight);
  if (problem.empty()) problem = type_problem(node, "weight scales", scales, DType::f32);
  return problem.empty() ? scales_problem(scales, weight.dims[0], fp8) : problem;
}

/// Scales of the node's activations.
std::string input_problem(const Node& node) {
  if (node.precision == Precision::int8) {
    if (is_scale(node.input_quantization.scale)) return "";
    return fmt::format("its input scale is {}; a scale is above 0 and finite",
                       node.input_quantization.scale);
  }
  if (node.input_quantization != numerics::AffineU8{}) {
    return fmt::format("it is {}, but has an input scale, which is for int8", name(node.precision));
  }
  std::size_t wanted = 0;
  if (node.precision == Precision::fp8) {
    wanted = std::holds_alternative<Attention>(node.op) ? kAttentionInputs : 1;
  }
  if (node.input_scales.size() != wanted) {
    return fmt::format("it is {} with {} input scales, {} are needed", name(node.precision),
                       node.input_scales.size(), wanted);
  }
  for (const float scale : node.input_scales) {
    if (!is_scale(scale)) {
      return fmt::format("its input scale is {}; a scale is above 0 and finite", scale);
    }
  }
  return "";
}

}  // namespace

std::string precision_problem(const Graph& graph, const Node& node) {
  if (!can_have(node.op, node.precision)) {
    return fmt::format(
        "{} cannot be {}",
        std::holds_alternative<Conv2d>(node.op) ? "a grouped conv2d" : operator_name(node.op),
        name(node.precision));
  }
  if (std::string stray = stray_codes(graph, node); !stray.empty()) return stray;
  if (std::string problem = input_problem(node); !problem.empty()) return problem;
  if (!is_product(node)) return "";
  if (node.precision == Precision::int8 || node.precision == Precision::fp8 ||
      node.precision == Precision::nvfp4) {
    return scaled_problem(graph, node);
  }
  if (input_or_none(node, kWeightScaleInput) != kNone) {
    return fmt::format("it is {}, but has weight scales, which are for int8, fp8 and nvfp4",
                       name(node.precision));
  }
  if (input_or_none(node, kTensorScaleInput) != kNone) {
    return fmt::format("it is {}, but has a tensor scale, which is for nvfp4",
                       name(node.precision));
  }
  return "";
}

}  // namespace assay::graph
