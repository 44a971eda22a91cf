#pragma once
/// Rewrites of a graph. Each is a small function with its own file and test, keeps results up to
/// rounding, and leaves a graph that verify() accepts.
#include "graph/graph.h"

namespace assay::graph {

/// BatchNorm behind a convolution becomes that convolution's weights and bias, computed in fp32.
void fold_batch_norm(Graph& graph);
/// Nodes whose inputs are all constants become constants.
void fold_constants(Graph& graph);
/// Activations and residual additions become attributes of the Conv2d or Linear that made their
/// input, where nothing else reads it.
void fuse_elementwise(Graph& graph);
/// Reshapes of reshapes, slices of everything, identity transposes and the like go.
void remove_views(Graph& graph);
/// Nodes and values that no output needs go; ids are renumbered.
void remove_dead(Graph& graph);

/// What a build runs before the graph is stored. Level 0: remove_dead alone. Level 1 and up: fold
/// BatchNorm and constants, fuse elementwise, remove views, remove dead code.
void optimize(Graph& graph, int optimization_level);

}  // namespace assay::graph
