#pragma once
#include "graph/graph.h"

namespace assay::backend::reference {

/// gelu: x Φ(x) with the exact Φ (arXiv 1606.08415, section 2); silu: x / (1 + e⁻ˣ).
double activate(graph::Activation activation, double x);

}  // namespace assay::backend::reference
