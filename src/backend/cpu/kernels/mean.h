#pragma once
#include <cstdint>

namespace assay::backend::cpu {

/// y[c] = mean over r of x[r * row_stride + c], for `rows` >= 1 rows and c < `channels`: the global
/// average pool of one image is rows = H * W, row_stride = channels = C. To share one image among
/// workers, give each a range of channels by offset pointers. Single-threaded; no overlap.
void mean(const float* x, std::int64_t row_stride, float* y, std::int64_t rows,
          std::int64_t channels);

}  // namespace assay::backend::cpu
