#pragma once
/// The weights of an inverted residual in the order in which its kernel reads them.
#include <cstddef>
#include <span>
#include <vector>

#include "backend/cuda/kernels/inverted_shape.h"

namespace assay::backend::cuda {

/// Row by row, as graphs have them. Biases may be empty: zeros.
struct InvertedWeights {
  int channels = 0, expanded = 0, out_channels = 0;
  std::span<const float> expand;     ///< [expanded][channels]
  std::span<const float> depthwise;  ///< [expanded][3 × 3]
  std::span<const float> project;    ///< [out_channels][expanded]
  std::span<const float> expand_bias, depthwise_bias;
};

/// Group by group, as group_layout() says. Pointwise weights are rounded to fp16.
std::vector<std::byte> pack_inverted(const InvertedWeights& weights);

/// Whether fp16 holds every number.
bool fits_fp16(std::span<const float> numbers);

}  // namespace assay::backend::cuda
