#pragma once
/// What the packing, the sharing and the kernels of the matrix product agree on.
#include <array>
#include <cstdint>
#include <span>

#include "graph/graph.h"

namespace assay::backend::cpu {

/// The tiles that one instruction set's kernels come in.
struct GemmShape {
  int unit = 0;               ///< columns of a unit
  int max_units = 0;          ///< widest panel
  std::array<int, 5> rows{};  ///< highest tile by its width in units, from 1
};

/// Of the active instruction set.
GemmShape gemm_shape();

/// One tile's arguments: GemmArgs moved to the tile.
struct MicroArgs {
  const float* a = nullptr;
  std::int64_t a_row = 0;
  std::span<const std::int64_t> segments;
  std::int64_t segment_length = 0;
  const float* b = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  std::int64_t c_row = 0;
  std::int64_t columns = 0;  ///< at most the panel's width
  const float* residual = nullptr;
  std::int64_t residual_row = 0;
  graph::Activation activation = graph::Activation::none;
};

}  // namespace assay::backend::cpu
