#pragma once
/// A 3 × 3 convolution of stride 1 with fewer products: Winograd's minimal filtering (Lavin and
/// Gray, arXiv 1509.09308). The image is cut into tiles that overlap by two pixels; a tile of
/// (M + 2) × (M + 2) pixels, a weight of 3 × 3 and M × M outputs are each transformed to (M + 2)²
/// points, where the convolution is one matrix product over the channels a point: 2.25 times fewer
/// multiply-adds at M = 2, 4 times fewer at M = 4. The price is rounding: by simulation with random
/// numbers, the mean error at M = 4 is 1.7 times that of the direct sum, and at M = 2 0.6 times.
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/aligned_buffer.h"
#include "backend/cpu/kernels/gemm.h"
#include "graph/graph.h"

namespace assay::backend::cpu {

/// The weights' transform, a matrix [channels, outputs] for each point.
struct WinogradWeights {
  int outputs = 0;  ///< M: rows and columns of outputs in a tile, 2 or 4
  std::vector<PackedMatrix> points;

  [[nodiscard]] std::int64_t channels() const { return points.front().k; }
  [[nodiscard]] std::int64_t n() const { return points.front().n; }
};

/// Transforms `weight` [n, channels, 3, 3] in double and packs it for the active instruction set;
/// usable as long as `pool`.
WinogradWeights pack_winograd(std::span<const float> weight, std::int64_t n, std::int64_t channels,
                              int outputs, ConstantPool& pool);

/// Where the images lie: pixel (y, x) starts at y * line + x * row, in floats. The padding of one
/// pixel is not read: it counts as zeros.
struct WinogradArgs {
  std::int64_t height = 0;
  std::int64_t width = 0;
  const float* x = nullptr;
  std::int64_t x_line = 0;
  std::int64_t x_row = 0;
  const float* bias = nullptr;  ///< n numbers
  float* y = nullptr;
  std::int64_t y_line = 0;
  std::int64_t y_row = 0;
  const float* residual = nullptr;  ///< none where null
  std::int64_t residual_line = 0;
  std::int64_t residual_row = 0;
  graph::Activation activation = graph::Activation::none;
};

/// Tiles [tile_begin, tile_end), numbered line by line, times panels [panel_begin, panel_end) of
/// each point's matrix.
struct WinogradShare {
  std::int64_t tile_begin = 0;
  std::int64_t tile_end = 0;
  std::int64_t panel_begin = 0;
  std::int64_t panel_end = 0;
};

std::int64_t winograd_tiles(int outputs, std::int64_t height, std::int64_t width);

/// Worker `worker`'s share of `workers`.
WinogradShare winograd_share(const WinogradWeights& weights, const WinogradArgs& args, int worker,
                             int workers);

/// Floats of scratch, aligned to kAlignment, that each concurrent caller needs for a share of an
/// image of `tiles` tiles.
std::int64_t winograd_scratch(const WinogradWeights& weights, std::int64_t tiles);

/// y = activation(conv(x) + bias) + residual on the share. Each number is the same however the work
/// is shared. y may be the residual itself; no other overlap is allowed.
void winograd(const WinogradWeights& weights, const WinogradArgs& args, const WinogradShare& share,
              float* scratch);

}  // namespace assay::backend::cpu
