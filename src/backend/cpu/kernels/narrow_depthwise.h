#pragma once
/// The depthwise filter between two narrow products: it reads bf16 and writes its rows as the next
/// product's operands, so nothing wider than an operand lies between the three.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/kernels/narrow.h"

namespace assay::backend::cpu {

/// Channels come in groups of so many, the last padded with zeros.
inline constexpr std::int64_t kFilterGroup = 32;

/// The channel at each position of a pixel that the filter reads: channels c and c + 16 of a group
/// are neighbours, so that the two halves of 32 bits are vectors of neighbouring channels.
/// Positions are padded to groups; those whose channel is not below `channels` must hold finite
/// numbers.
std::vector<std::int64_t> paired_channels(std::int64_t channels);

/// weight [channels, 1, kh, kw], as checkpoints store it, to [kh][kw][padded channels]; a bias
/// [channels] likewise.
std::vector<float> pack_filter(std::span<const float> weight, std::int64_t channels);

/// y = activation(conv(x, weight) + bias), 3 × 3, one pixel of zeros left and right, none above and
/// below: the caller has those rows. Arithmetic is fp32; activations are as accurate as bf16 needs.
struct NarrowDepthwiseArgs {
  const std::byte* x = nullptr;  ///< bf16 pixels, line after line: in_width of them a line
  std::int64_t x_pixel = 0;      ///< bytes from pixel to pixel
  std::byte* y = nullptr;        ///< packed rows of `next`, one a pixel, channels in their order
  const NarrowMatrix* next = nullptr;
  const float* weight = nullptr;  ///< see pack_filter()
  const float* bias = nullptr;    ///< the same
  std::int64_t in_width = 0;
  std::int64_t out_width = 0;
  std::int64_t rows = 0;  ///< of the output
  std::int64_t channels = 0;
  int stride = 1;  ///< 1 or 2, both ways
  graph::Activation activation = graph::Activation::none;
};

/// Single-threaded; y must not overlap x. y's rows past the channels hold what zeros become.
void narrow_depthwise(const NarrowDepthwiseArgs& args);

}  // namespace assay::backend::cpu
