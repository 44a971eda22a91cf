#include "bundle/finite.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace assay::bundle {
namespace {

void check_variances(const graph::Graph& graph) {
  constexpr std::size_t kVariance = 4;  // BatchNorm's inputs end in running_var
  for (const graph::Node& node : graph.nodes) {
    const auto* norm = std::get_if<graph::BatchNorm>(&node.op);
    if (norm == nullptr) continue;
    const graph::Value& variance = graph.value(node.inputs[kVariance]);
    for (const float number : graph::to_f32(*variance.constant))
      if (static_cast<double>(number) + norm->epsilon <= 0)
        fail(ErrorKind::bad_input, "tensor '{}' has a variance of {}, which must not be negative",
             variance.name, number);
  }
}

/// What a person can look up: the layer that reads the value, or the value's own name.
std::string_view layer_of(const graph::Graph& graph, graph::ValueId id) {
  for (const graph::Node& node : graph.nodes)
    if (std::ranges::find(node.inputs, id) != node.inputs.end()) return node.name;
  return graph.value(id).name;
}

}  // namespace

std::optional<float> first_nonfinite(const graph::Constant& constant) {
  if (graph::is_code_type(constant.dtype)) return std::nullopt;  // each code is a number
  for (const float number : graph::to_f32(constant))
    if (!std::isfinite(number)) return number;
  return std::nullopt;
}

void check_stored(const graph::Graph& graph) {
  for (const graph::Value& value : graph.values) {
    const auto found = value.constant ? first_nonfinite(*value.constant) : std::nullopt;
    if (found)
      fail(ErrorKind::bad_input, "tensor '{}' holds {} (in fp32): every weight must be finite",
           value.name, *found);
  }
  check_variances(graph);
}

void check_folded(const graph::Graph& graph) {
  for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
    const graph::Value& value = graph.value(id);
    const auto found = value.constant ? first_nonfinite(*value.constant) : std::nullopt;
    if (found)
      fail(ErrorKind::bad_input,
           "layer '{}': '{}' becomes {} in fp32 when the layers are merged; its weights are too "
           "large",
           layer_of(graph, id), value.name, *found);
  }
}

}  // namespace assay::bundle
