#pragma once
/// The first and the last step of a network of convolutions, each as one with what lies next to it.
#include "backend/cuda/kernels/view.h"

namespace assay::backend::cuda {

/// The call's pixels, normalized and rounded to f16, through a convolution of few channels:
/// out = act(sum + bias), fp32 sums, f16 numbers.
struct Stem {
  Window window;                  ///< of 3 channels
  std::int32_t rows = 0, n = 0;   ///< output pixels, and channels: whole octets
  const float* weight = nullptr;  ///< [kernel_height × kernel_width × 3][n], numbers of f16
  const float* bias = nullptr;    ///< [n], or null
  Act act = Act::none;
  View out;  ///< f16, rows of aligned octets
};

/// The mean over rows, [k], and a linear layer of it, rounded to f16: [n].
struct Pooled {
  View in;    ///< f16, rows of aligned octets
  View mean;  ///< f32 or f16
  std::int32_t rows = 0, k = 0, n = 0;
  const void* weight = nullptr;  ///< f16 [n][k_padded]
  std::int32_t k_padded = 0;     ///< whole octets
  const float* bias = nullptr;   ///< [n], or null
  View out;                      ///< f32 or f16
};

inline constexpr int kStemColumns = 8;     ///< that a thread computes
inline constexpr int kPooledOutputs = 32;  ///< of a block

}  // namespace assay::backend::cuda
