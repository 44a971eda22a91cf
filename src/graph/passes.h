#pragma once
/// Rewrites of a graph. Each is a small function with its own file and test, keeps results up to
/// rounding, and leaves a graph that verify() accepts: what it makes unneeded, it removes. They
/// take graphs that verify() accepts.
#include "graph/graph.h"

namespace assay::graph {

/// BatchNorm behind a convolution becomes that convolution's weights and bias, computed in double
/// and stored as fp32. The convolution keeps its name and now computes the BatchNorm's value.
void fold_batch_norm(Graph& graph);
/// Operators that move numbers (reshape, transpose, slice, concat) or combine them (add, mul) and
/// whose inputs are all constants become constants. An output of the graph stays computed.
void fold_constants(Graph& graph);
/// Activations and additions of a tensor of the same dims become attributes of the Conv2d or Linear
/// that made their input, where nothing else reads it.
void fuse_elementwise(Graph& graph);
/// Reshapes of reshapes, slices of slices and of one part of a concatenation, transposes of
/// transposes are read through; whatever then changes nothing goes.
void remove_views(Graph& graph);
/// Nodes and values that no output needs go; ids are renumbered.
void remove_dead(Graph& graph);

/// What a build runs before the graph is stored. Level 0: remove_dead alone. Level 1 and up: remove
/// views, fold constants and BatchNorm, fuse elementwise operators, remove dead code.
void optimize(Graph& graph, int optimization_level);

}  // namespace assay::graph
