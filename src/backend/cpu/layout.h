#pragma once
/// Decides, before anything is lowered, which values are computed straight into their final place:
/// a part of a concatenation into the whole, and the input of a convolution into an image with a
/// margin of zeros. Both save a copy.
#include <array>
#include <vector>

#include "graph/graph.h"

namespace assay::backend::cpu {

/// How a value wants to be placed.
struct Wish {
  graph::ValueId whole = graph::kNone;  ///< the concatenation that it is a part of
  std::int64_t row_begin = 0;           ///< where in the whole's rows
  std::int64_t column_begin = 0;
  std::array<std::int64_t, 2> margin{0, 0};  ///< zeros around it, height and width
};

/// One wish for each value of the graph.
std::vector<Wish> plan_layout(const graph::Graph& graph);

/// A convolution with as many groups as channels, in and out: it has kernels of its own.
bool is_depthwise(const graph::Graph& graph, const graph::Node& node);

/// Whether `value` is read once, by `reader`'s first input, and is no output of the graph: then a
/// step of both nodes need not store it.
bool only_read_by(const graph::Graph& graph, graph::ValueId value, const graph::Node& reader);

}  // namespace assay::backend::cpu
