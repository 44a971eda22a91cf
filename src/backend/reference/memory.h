#pragma once
/// Where each value lives: buffers that values share when they are not needed at the same time.
#include <cstddef>
#include <vector>

#include "graph/graph.h"

namespace assay::backend::reference {

struct MemoryLayout {
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> offset;  ///< by value, in floats for one image; kNowhere: a constant
  std::size_t size = 0;             ///< floats for one image
};

/// A value keeps its place from the node that computes it to the last node that reads it; outputs
/// of the graph keep theirs to the end.
MemoryLayout lay_out(const graph::Graph& graph);

}  // namespace assay::backend::reference
