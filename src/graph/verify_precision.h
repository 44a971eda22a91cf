#pragma once
/// verify()'s part about narrow operands, which more than one field must agree on.
#include <string>

#include "graph/graph.h"

namespace assay::graph {

/// What is wrong with the node's precision, or with the types of its constants; empty where nothing
/// is. Takes nodes whose inputs exist and have the dims that infer_shape() asks for.
std::string precision_problem(const Graph& graph, const Node& node);

}  // namespace assay::graph
