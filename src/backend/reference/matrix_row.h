#pragma once
/// One row of y = activation(W x + bias) + residual: what a linear layer does for each
/// token and a convolution for each pixel and group.
#include <span>

#include "backend/reference/operators.h"

namespace assay::backend::reference {

struct MatrixRow {
  std::span<const double> x;  ///< K
  const float* weight;        ///< [N, K]
  const float* bias;          ///< N, or nullptr
  const float* residual;      ///< N, or nullptr
  graph::Activation activation;
};

/// The N numbers from `first` on of a Conv2d's or Linear's optional input, or nullptr.
const float* optional_numbers(const Call& call, std::size_t input, std::int64_t first);

/// Writes out.size() = N numbers.
void multiply(const MatrixRow& row, std::span<float> out);

}  // namespace assay::backend::reference
