#pragma once
/// MobileNetV2's block as one step with narrow products: the widened rows are bf16, the filtered
/// ones the operands of the last product, a few rows at a time.
#include <cstddef>

namespace assay::backend::cpu {

class Lowering;

/// Lowers the block whose first node is `first` (see is_inverted_residual) and whose products are
/// both narrow.
void lower_narrow_inverted_residual(Lowering& lowering, std::size_t first);

}  // namespace assay::backend::cpu
