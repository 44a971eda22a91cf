#include "backend/flops.h"

namespace assay::backend {

using graph::elements;

std::uint64_t count_flops(const graph::Graph& graph, const graph::Node& node) {
  const std::int64_t outputs = elements(graph.value(node.output).dims);
  std::int64_t multiply_adds = 0;
  if (std::holds_alternative<graph::Conv2d>(node.op) ||
      std::holds_alternative<graph::Linear>(node.op)) {
    const graph::Dims& weight = graph.value(node.inputs[1]).dims;
    multiply_adds = outputs * elements(std::span(weight).subspan(1));
  } else if (std::holds_alternative<graph::Attention>(node.op)) {
    const graph::Dims& keys = graph.value(node.inputs[1]).dims;
    multiply_adds = 2 * outputs * keys[keys.size() - 2];
  }
  return 2 * static_cast<std::uint64_t>(multiply_adds);
}

std::uint64_t constant_bytes(const graph::Graph& graph, const graph::Node& node) {
  std::uint64_t bytes = 0;
  for (const graph::ValueId id : node.inputs) {
    if (id != graph::kNone && graph.value(id).constant) {
      bytes += graph.value(id).constant->bytes.size();
    }
  }
  return bytes;
}

}  // namespace assay::backend
