#pragma once
/// Convolutions by Winograd's transform where that is faster than the direct product.
#include "backend/cpu/lowering.h"

namespace assay::backend::cpu {

/// Lowers `node` so if it is a 3 × 3 convolution for which the transform pays, or tuning says so.
/// Else adds nothing and returns false: the direct product is the tactic.
bool lower_winograd(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op);

}  // namespace assay::backend::cpu
