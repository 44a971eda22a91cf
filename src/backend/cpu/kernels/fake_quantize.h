#pragma once
/// Rounding numbers to those that a narrow format has, for formats that this machine only emulates.
#include <cstdint>

#include "graph/graph.h"

namespace assay::backend::cpu {

/// y[i] = the number that x[i]'s code stands for, as graph::FakeQuantize says, bit for bit but for
/// the sign of zero. NaN stays NaN, but becomes code 0 at affine_u8. Single-threaded; y may be x.
void fake_quantize(const graph::FakeQuantize& op, const float* x, float* y, std::int64_t count);

}  // namespace assay::backend::cpu
