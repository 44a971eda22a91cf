#pragma once
/// Whether a graph's stored numbers can give finite answers. For build and verify; loading does not
/// read every weight.
#include <optional>

#include "graph/graph.h"

namespace assay::bundle {

/// The first number of `constant` that is not finite in fp32, if any.
std::optional<float> first_nonfinite(const graph::Constant& constant);

/// Checks the constants of a graph that still has the checkpoint's own tensor names: each number
/// finite, and each BatchNorm's running variance above minus its epsilon, so that the square root
/// exists. Throws bad_input naming the tensor and what was found.
void check_stored(const graph::Graph& graph);

/// Checks the constants that passes computed. Throws bad_input naming the layer: finite weights can
/// still overflow when one is multiplied into another.
void check_folded(const graph::Graph& graph);

}  // namespace assay::bundle
