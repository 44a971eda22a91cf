#include "backend/cuda/fold.h"

namespace assay::backend::cuda {
namespace {

using graph::Dims;

/// The dims in, behind the first reshape, and out, where three nodes are a reshape, a transpose by
/// `permutation` and a reshape, one behind the other, with nothing else reading between them.
struct Chain {
  Dims in, split, out;
};
std::optional<Chain> chain_at(const graph::Graph& graph, const Consumers& consumers,
                              std::size_t first, const std::vector<int>& permutation) {
  if (first + kFoldNodes > graph.nodes.size()) return std::nullopt;
  const graph::Node& split = graph.nodes[first];
  const graph::Node& turn = graph.nodes[first + 1];
  const graph::Node& join = graph.nodes[first + 2];
  const auto* transpose = std::get_if<graph::Transpose>(&turn.op);
  if (!std::holds_alternative<graph::Reshape>(split.op) || transpose == nullptr ||
      !std::holds_alternative<graph::Reshape>(join.op) || transpose->permutation != permutation ||
      turn.inputs[0] != split.output || join.inputs[0] != turn.output) {
    return std::nullopt;
  }
  for (const graph::ValueId between : {split.output, turn.output}) {
    if (consumers.readers(between).size() != 1 || consumers.is_output(between)) return std::nullopt;
  }
  return Chain{graph.value(split.inputs[0]).dims, graph.value(split.output).dims,
               graph.value(join.output).dims};
}

}  // namespace

std::optional<Fold> unfold_at(const graph::Graph& graph, const Consumers& consumers,
                              std::size_t first) {
  const auto chain = chain_at(graph, consumers, first, {1, 3, 0, 2, 4});
  if (!chain || chain->in.size() != 3 || graph.value(graph.nodes[first].inputs[0]).constant) {
    return std::nullopt;
  }
  const Dims& map = chain->in;
  const std::int64_t patch = chain->split[1];
  if (map[0] % patch != 0 || map[1] % patch != 0) return std::nullopt;
  const std::int64_t down = map[0] / patch;
  const std::int64_t across = map[1] / patch;
  if (chain->split != Dims{down, patch, across, patch, map[2]} ||
      chain->out != Dims{patch * patch, down * across, map[2]}) {
    return std::nullopt;
  }
  return Fold{map[1], patch};
}

std::optional<Fold> fold_at(const graph::Graph& graph, const Consumers& consumers,
                            std::size_t first) {
  const auto chain = chain_at(graph, consumers, first, {2, 0, 3, 1, 4});
  if (!chain || chain->out.size() != 3) return std::nullopt;
  const Dims& map = chain->out;
  const std::int64_t patch = chain->split[0];
  if (map[0] % patch != 0 || map[1] % patch != 0) return std::nullopt;
  const std::int64_t down = map[0] / patch;
  const std::int64_t across = map[1] / patch;
  if (chain->split != Dims{patch, patch, down, across, map[2]} ||
      chain->in != Dims{patch * patch, down * across, map[2]}) {
    return std::nullopt;
  }
  return Fold{map[1], patch};
}

}  // namespace assay::backend::cuda
