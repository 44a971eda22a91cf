#pragma once
/// Decides, before anything is lowered, which values are computed straight into their final place
/// as a part of a concatenation, and which concatenations are never put together. Both save a copy.
#include <vector>

#include "backend/cuda/consumers.h"
#include "graph/graph.h"

namespace assay::backend::cuda {

/// How a value wants to be placed.
struct Wish {
  graph::ValueId whole = graph::kNone;  ///< the concatenation that it is a part of
  std::int64_t row_begin = 0;           ///< where in the whole's rows
  std::int64_t column_begin = 0;
  /// Of a concatenation: the value, dead by then, that it is written over. Its other parts are
  /// slices of that, which lie where they should.
  graph::ValueId over = graph::kNone;
  /// Of a concatenation: a first row and the rest, which products read where they lie.
  bool apart = false;
};

/// One wish for each value of the graph.
std::vector<Wish> plan_layout(const graph::Graph& graph, const Consumers& consumers);

}  // namespace assay::backend::cuda
