#pragma once
/// One row of y = activation(W x + bias) + residual: what a linear layer does for each token and a
/// convolution for each pixel and group.
#include <span>

#include "graph/graph.h"

namespace assay::backend::reference {

struct MatrixRow {
  std::span<const double> x;  ///< K
  const float* weight;        ///< [N, K]
  const float* bias;          ///< N, or nullptr
  const float* residual;      ///< N, or nullptr
  graph::Activation activation;
};

/// Writes out.size() = N numbers.
void multiply(const MatrixRow& row, std::span<float> out);

}  // namespace assay::backend::reference
