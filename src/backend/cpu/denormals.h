#pragma once
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace assay::backend::cpu {

/// While it lives, this thread takes numbers below 2^-126 for zero, as operands and as results.
/// Probabilities and logistic functions fall that low on ordinary noise; each operation on such a
/// number takes some 150 cycles on x86, and a call three times as long. Elsewhere nothing is done.
class DenormalsAreZero {
 public:
  DenormalsAreZero(const DenormalsAreZero&) = delete;
  DenormalsAreZero& operator=(const DenormalsAreZero&) = delete;
#if defined(__x86_64__)
  DenormalsAreZero() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | kFlushResults | kZeroOperands);
  }
  ~DenormalsAreZero() { _mm_setcsr(before_); }

 private:
  // Intel SDM, volume 1, "MXCSR": FTZ and DAZ.
  static constexpr unsigned kFlushResults = 0x8000;
  static constexpr unsigned kZeroOperands = 0x0040;
  unsigned before_;
#else
  DenormalsAreZero() = default;
#endif
};

}  // namespace assay::backend::cpu
