#pragma once
#include <cstdint>

#include "graph/graph.h"

namespace assay::backend {

/// The arithmetic of a node for one image, a multiply-add counted as two: of convolutions, linear
/// layers and attention's two products. The rest counts nothing.
std::uint64_t count_flops(const graph::Graph& graph, const graph::Node& node);

/// The stored size of the node's constants.
std::uint64_t constant_bytes(const graph::Graph& graph, const graph::Node& node);

}  // namespace assay::backend
