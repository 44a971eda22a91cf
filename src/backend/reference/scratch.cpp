#include "backend/reference/operators.h"

namespace assay::backend::reference {

std::size_t scratch_size(const graph::Graph& graph, const graph::Node& node) {
  const auto dims = [&](std::size_t input) {
    return std::span<const std::int64_t>(graph.value(node.inputs[input]).dims);
  };
  std::int64_t size = 0;
  if (std::holds_alternative<graph::Conv2d>(node.op) ||
      std::holds_alternative<graph::Linear>(node.op)) {
    size = graph::elements(dims(1).subspan(1));
  } else if (const auto* attention = std::get_if<graph::Attention>(&node.op)) {
    const auto keys = dims(1);
    size = keys[keys.size() - 2] + keys.back() / attention->heads;
  } else if (std::holds_alternative<graph::Mean>(node.op)) {
    size = graph::elements(graph.value(node.output).dims);
  }
  return static_cast<std::size_t>(size);
}

}  // namespace assay::backend::reference
