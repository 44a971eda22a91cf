/// A transposed copy of a matrix, in 4 × 4 blocks of 128-bit vectors: the same on every target, and
/// bound by loads and stores rather than by shuffles. For use inside HWY_NAMESPACE.
#if defined(ASSAY_BACKEND_CPU_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_TRANSPOSE_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_TRANSPOSE_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void transpose_4x4(const float* x, std::int64_t x_stride, float* y,
                              std::int64_t y_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < 4; ++c) y[c * y_stride + r] = x[r * x_stride + c];
  }
#else
  const hn::FixedTag<float, 4> d;
  const auto row0 = hn::LoadU(d, x);
  const auto row1 = hn::LoadU(d, x + x_stride);
  const auto row2 = hn::LoadU(d, x + 2 * x_stride);
  const auto row3 = hn::LoadU(d, x + 3 * x_stride);
  const auto low02 = hn::InterleaveLower(d, row0, row2);
  const auto low13 = hn::InterleaveLower(d, row1, row3);
  const auto high02 = hn::InterleaveUpper(d, row0, row2);
  const auto high13 = hn::InterleaveUpper(d, row1, row3);
  hn::StoreU(hn::InterleaveLower(d, low02, low13), d, y);
  hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, y + y_stride);
  hn::StoreU(hn::InterleaveLower(d, high02, high13), d, y + 2 * y_stride);
  hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, y + 3 * y_stride);
#endif
}

/// y[c * y_stride + r] = x[r * x_stride + c] for r < rows, c < columns.
HWY_INLINE void transpose_matrix(const float* x, std::int64_t x_stride, std::int64_t rows,
                                 std::int64_t columns, float* y, std::int64_t y_stride) {
  const std::int64_t full_rows = rows & ~std::int64_t{3};
  const std::int64_t full_columns = columns & ~std::int64_t{3};
  for (std::int64_t r = 0; r < full_rows; r += 4) {
    for (std::int64_t c = 0; c < full_columns; c += 4) {
      transpose_4x4(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
    }
    for (std::int64_t c = full_columns; c < columns; ++c) {
      for (std::int64_t i = r; i < r + 4; ++i) y[c * y_stride + i] = x[i * x_stride + c];
    }
  }
  for (std::int64_t r = full_rows; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) y[c * y_stride + r] = x[r * x_stride + c];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
