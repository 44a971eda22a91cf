#pragma once
#include <cstdint>

namespace assay::backend::cpu {

/// y = exp(x - max x) / sum over each of `rows` dense rows of `width` numbers. Single-threaded; y
/// may be x. A row with NaN or +infinity, or of -infinity alone, gives NaN.
void softmax(const float* x, float* y, std::int64_t rows, std::int64_t width);

}  // namespace assay::backend::cpu
