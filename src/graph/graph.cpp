#include "graph/graph.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace assay::graph {

std::int64_t elements(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

std::string_view name(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return "bf16";
    case Precision::int8:
      return "int8";
    case Precision::fp32:
      break;
  }
  return "fp32";
}

bool can_have(const Operator& op, Precision precision) {
  if (precision == Precision::fp32) return true;
  if (const auto* conv = std::get_if<Conv2d>(&op)) return conv->groups == 1;
  if (std::holds_alternative<Attention>(op)) return precision == Precision::bf16;
  return std::holds_alternative<Linear>(op);
}

std::string to_string(std::span<const std::int64_t> dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

namespace {

struct NameOf {
  std::string_view operator()(const Conv2d&) const { return "conv2d"; }
  std::string_view operator()(const Linear&) const { return "linear"; }
  std::string_view operator()(const LayerNorm&) const { return "layer_norm"; }
  std::string_view operator()(const BatchNorm&) const { return "batch_norm"; }
  std::string_view operator()(const Attention&) const { return "attention"; }
  std::string_view operator()(const Activate&) const { return "activate"; }
  std::string_view operator()(const Softmax&) const { return "softmax"; }
  std::string_view operator()(const Add&) const { return "add"; }
  std::string_view operator()(const Mul&) const { return "mul"; }
  std::string_view operator()(const Concat&) const { return "concat"; }
  std::string_view operator()(const Slice&) const { return "slice"; }
  std::string_view operator()(const Reshape&) const { return "reshape"; }
  std::string_view operator()(const Transpose&) const { return "transpose"; }
  std::string_view operator()(const Resize&) const { return "resize"; }
  std::string_view operator()(const Mean&) const { return "mean"; }
};

}  // namespace

std::string_view operator_name(const Operator& op) { return std::visit(NameOf{}, op); }

ValueId Graph::output(std::string_view output_name) const {
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const Output& candidate) {
    return candidate.name == output_name;
  });
  if (found == outputs.end()) {
    fail(ErrorKind::not_found, "graph '{}' has no output named '{}'", name, output_name);
  }
  return found->value;
}

}  // namespace assay::graph
