#pragma once
/// MobileViT's unfolding of a map into patches, and its inverse: three nodes that only move
/// numbers.
#include <cstddef>
#include <optional>

#include "backend/cuda/consumers.h"
#include "graph/graph.h"

namespace assay::backend::cuda {

struct Fold {
  std::int64_t map_width = 0;
  std::int64_t patch = 0;
};
inline constexpr std::size_t kFoldNodes = 3;

/// Whether the nodes from `first` on, which nothing else reads, are exactly reshape, transpose and
/// reshape from [H, W, C] to [patch × patch, H / patch × W / patch, C].
std::optional<Fold> unfold_at(const graph::Graph& graph, const Consumers& consumers,
                              std::size_t first);
/// The same for the way back.
std::optional<Fold> fold_at(const graph::Graph& graph, const Consumers& consumers,
                            std::size_t first);

}  // namespace assay::backend::cuda
