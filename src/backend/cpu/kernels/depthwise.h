#pragma once
#include <array>
#include <cstdint>

#include "graph/graph.h"

namespace assay::backend::cpu {

/// One depthwise convolution (groups = channels = output channels), channels-last and dense:
/// y = activation(conv(x, weight) + bias) + residual. x is images × in_height × in_width ×
/// channels, y and residual images × out_height × out_width × channels. Zero padding.
struct DepthwiseArgs {
  const float* x = nullptr;
  float* y = nullptr;
  const float* weight = nullptr;    ///< [kernel h][kernel w][channels], see pack_depthwise_weight
  const float* bias = nullptr;      ///< [channels] or null
  const float* residual = nullptr;  ///< like y, or null; may be y itself
  std::int64_t in_height = 0;
  std::int64_t in_width = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t channels = 0;
  std::array<int, 2> kernel{3, 3};  ///< height, width; so for all four
  std::array<int, 2> stride{1, 1};
  std::array<int, 2> padding{1, 1};
  std::array<int, 2> dilation{1, 1};
  graph::Activation activation = graph::Activation::none;
};

/// weight [channels, 1, kh, kw], as checkpoints store it, to [kh][kw][channels].
void pack_depthwise_weight(const float* weight, std::int64_t channels, int kernel_height,
                           int kernel_width, float* packed);

/// Computes output rows [row_begin, row_end), counted over all images: row r is row
/// r % out_height of image r / out_height. Single-threaded; y must not overlap x. Each number is
/// the same however the rows are split. 3 × 3 kernels of stride 1 and 2 without dilation are
/// specialised.
void depthwise_conv(const DepthwiseArgs& args, std::int64_t row_begin, std::int64_t row_end);

}  // namespace assay::backend::cpu
