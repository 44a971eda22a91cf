#pragma once
/// MobileNetV2's block as one step: widen, filter each channel, narrow (Sandler et al., arXiv
/// 1801.04381). The widened image is several times larger than a core's cache; computed a few rows
/// at a time it never leaves it.
#include <cstddef>

#include "graph/graph.h"

namespace assay::backend::cpu {

class Lowering;

/// Whether nodes index, index + 1 and index + 2 are such a block, and nothing else reads what is
/// between them.
bool is_inverted_residual(const graph::Graph& graph, std::size_t index);

/// Lowers the block whose first node is `first`.
void lower_inverted_residual(Lowering& lowering, std::size_t first);

}  // namespace assay::backend::cpu
