#pragma once

namespace assay::backend::cpu {

/// Fused multiply-adds a second, counted as two operations, that one core reaches with independent
/// sums in registers and nothing else, in GFLOP/s, on the instruction set in use: what the shares
/// of peak are shares of.
double measure_fma_peak();

}  // namespace assay::backend::cpu
