#pragma once
#include "graph/graph.h"

namespace assay::backend::cpu {

/// Operations a second, in 1e9, of one core that multiplies and adds nothing but registers with the
/// fastest instruction of the active instruction set for operands of `precision`: an fp32
/// multiply-add, a dot product, or a tile product. The best of some tries; takes some milliseconds.
double measure_peak(graph::Precision precision);

}  // namespace assay::backend::cpu
