#pragma once
/// Tiles of images to and from Winograd's points.
#include "backend/cpu/kernels/winograd.h"

namespace assay::backend::cpu {

/// Some tiles on their way. Point p of tile t starts at input + p * input_stride + t * channels,
/// and at output + p * output_stride + t * output_row.
struct TileBlock {
  std::int64_t first = 0;
  std::int64_t count = 0;
  const float* zeros = nullptr;  ///< a pixel beside the image
  float* input = nullptr;
  std::int64_t input_stride = 0;
  float* output = nullptr;
  std::int64_t output_stride = 0;
  std::int64_t output_row = 0;
  std::int64_t column_begin = 0;  ///< the output channels that are wanted
  std::int64_t column_end = 0;
};

/// Fills block.input from args.x.
void winograd_to_points(int outputs, const WinogradArgs& args, std::int64_t channels,
                        const TileBlock& block);

/// Computes args.y from block.output: transform, bias, activation, residual.
void winograd_from_points(int outputs, const WinogradArgs& args, const TileBlock& block);

}  // namespace assay::backend::cpu
