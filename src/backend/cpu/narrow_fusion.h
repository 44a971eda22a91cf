#pragma once
/// Steps of several nodes around products with narrow operands: rows are converted as they are
/// packed, so a LayerNorm in front costs no pass of its own, and an MLP's hidden rows are written
/// as the operands of its second product and never leave the cache.
#include <cstddef>

#include "graph/graph.h"

namespace assay::backend::cpu {

class Lowering;

/// How many nodes from `index` on make one such step; 1 for none.
std::size_t narrow_group(const graph::Graph& graph, std::size_t index);

/// Whether the group of `count` nodes from `index` on is an MLP, whose two products may also be
/// steps apart.
bool is_mlp_group(const graph::Graph& graph, std::size_t index, std::size_t count);

/// Lowers the group of `count` nodes from `first` on.
void lower_narrow_group(Lowering& lowering, std::size_t first, std::size_t count);

}  // namespace assay::backend::cpu
