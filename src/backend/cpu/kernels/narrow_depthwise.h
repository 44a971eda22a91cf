#pragma once
/// The depthwise filter between two narrow products: it reads bf16 and writes its rows as the next
/// product's operands, so nothing wider than an operand lies between the three.
#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels/narrow.h"

namespace assay::backend::cpu {

/// y = activation(conv(x, weight) + bias), 3 × 3, one pixel of zeros left and right, none above and
/// below: the caller has those rows. Arithmetic is fp32; activations are as accurate as bf16 needs.
struct NarrowDepthwiseArgs {
  const std::byte* x = nullptr;  ///< bf16 pixels, line after line: in_width of them a line
  std::int64_t x_pixel = 0;      ///< bytes from pixel to pixel
  std::byte* y = nullptr;        ///< packed rows of `next`, one a pixel
  const NarrowMatrix* next = nullptr;
  const float* weight = nullptr;  ///< [3][3][channels]
  const float* bias = nullptr;    ///< [channels] or null
  std::int64_t in_width = 0;
  std::int64_t out_width = 0;
  std::int64_t rows = 0;  ///< of the output
  std::int64_t channels = 0;
  int stride = 1;  ///< 1 or 2, both ways
  graph::Activation activation = graph::Activation::none;
};

/// Single-threaded; y must not overlap x. Padding of y's rows past the channels is zeroed.
void narrow_depthwise(const NarrowDepthwiseArgs& args);

}  // namespace assay::backend::cpu
