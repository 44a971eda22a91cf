#pragma once
#include "graph/graph.h"

namespace assay::bench {

/// Operations a second, in 1e9, of one core that multiplies and adds nothing but registers with the
/// fastest instruction of the active instruction set for operands of `precision` (bf16, int8): a
/// tile product, a dot product, or where there is neither, an fp32 multiply-add. The best of some
/// tries.
double measure_narrow_peak(graph::Precision precision);

}  // namespace assay::bench
