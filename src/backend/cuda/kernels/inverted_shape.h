#pragma once
/// How an inverted residual is cut into blocks, and how its weights lie.
///
/// A block computes a tile of output pixels. The expanded map exists only in its shared memory,
/// with one more pixel all around, which neighbouring tiles compute again. Where a map has few
/// tiles, the blocks of a cluster share the expanded channels of one and add up what they project.
#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

inline constexpr int kInvertedThreads = 512;
inline constexpr int kInvertedWarps = kInvertedThreads / 32;
/// Expanded channels come in groups: the columns of a product of warps, and the depth of another.
inline constexpr int kGroupChannels = 16;
inline constexpr int kTaps = 9;

constexpr int rounded_up(int count, int unit) { return (count + unit - 1) / unit * unit; }

/// Output channels come in strips of 16, the last one filled up with zeros.
constexpr int strips_of(int out_channels) { return rounded_up(out_channels, 16) / 16; }

/// The weights of one group, one part behind the other, in the order in which lanes read them. A
/// block's groups are one piece of memory. Fragments of 16 columns: PTX ISA, "Matrix fragments for
/// mma.m16n8k16", of B, b0 and b1 of the columns 0 to 7, then of 8 to 15.
struct GroupLayout {
  int expand_bias = 0;     ///< [16] fp32; in front of it [channels / 16][lane] fragments
  int depthwise = 0;       ///< [tap][16] fp32
  int depthwise_bias = 0;  ///< [16] fp32
  int project = 0;         ///< [strip][lane] fragments
  int bytes = 0;
};

constexpr GroupLayout group_layout(int channels, int out_channels) {
  constexpr int kFragment = 32 * 16;
  GroupLayout layout;
  layout.expand_bias = rounded_up(channels, 16) / 16 * kFragment;
  layout.depthwise = layout.expand_bias + kGroupChannels * 4;
  layout.depthwise_bias = layout.depthwise + kTaps * kGroupChannels * 4;
  layout.project = layout.depthwise_bias + kGroupChannels * 4;
  layout.bytes = layout.project + strips_of(out_channels) * kFragment;
  return layout;
}

constexpr int groups_of(const Inverted& v) {
  return (v.expanded + kGroupChannels - 1) / kGroupChannels;
}

/// Output pixels of a block, and how many blocks share their expanded channels.
struct InvertedTiling {
  int width = 8, height = 8;
  int split = 1;
};

/// Pixels under the kernel, in bands of 16 rows of a product.
constexpr int halo_length(int outputs, int stride) { return (outputs - 1) * stride + 3; }
constexpr int halo_bands(int width, int height, int stride) {
  return rounded_up(halo_length(width, stride) * halo_length(height, stride), 16) / 16;
}

/// The most pieces of a pass that a warp has.
constexpr int pieces_each(int pieces) { return (pieces + kInvertedWarps - 1) / kInvertedWarps; }

/// How a block shares its work, and where things lie in its shared memory, in bytes. Rows are an
/// odd number of 16-byte units long, so that eight of them lie in different banks.
struct InvertedShared {
  int groups = 0;      ///< of expanded channels, of a block
  int abreast = 1;     ///< groups that a warp expands at once: two load less
  int own_strips = 0;  ///< of output channels, that a block adds up and writes
  int run = 1;         ///< output pixels side by side that a thread convolves
  int in_pitch = 0, wide_pitch = 0;
  int in = 0;      ///< behind the weights: the pixels under the tile
  int wide = 0;    ///< expanded; later sums
  int narrow = 0;  ///< what the depthwise convolution made of that
  int inside = 0;  ///< [pixel] all bits where the pixel is in the image
  int bias = 0;    ///< [out_channels] of the projection
  int bytes = 0;
};

constexpr InvertedShared inverted_shared(const Inverted& v, const InvertedTiling& tiling) {
  const int rows = halo_bands(tiling.width, tiling.height, v.stride) * 16;
  const int pixels = tiling.width * tiling.height;
  const int strips = strips_of(v.out_channels);
  InvertedShared s;
  s.groups = (groups_of(v) + tiling.split - 1) / tiling.split;
  const int bands = rows / 16;
  const int two = 2 * pieces_each(s.groups / 2 * bands);
  if (s.groups % 2 == 0 && two * 6 <= pieces_each(s.groups * bands) * 7) s.abreast = 2;
  s.own_strips = (strips + tiling.split - 1) / tiling.split;
  // As long as all threads have a run; a longer one loads less.
  const int pairs = s.groups * kGroupChannels / 2;
  s.run = tiling.width;
  while (s.run > 2 && pixels / s.run * pairs < kInvertedThreads) s.run /= 2;
  s.in_pitch = rounded_up(v.channels, 16) * 2 + 16;
  s.wide_pitch = s.groups * kGroupChannels * 2 + 16;
  s.in = rounded_up(s.groups * group_layout(v.channels, v.out_channels).bytes, 128);
  s.wide = s.in + rows * s.in_pitch;
  const int wide = rows * s.wide_pitch;
  const int sums = tiling.split > 1 ? tiling.split * s.own_strips * pixels * 16 * 4 : 0;
  s.narrow = s.wide + (wide > sums ? wide : sums);
  s.inside = s.narrow + pixels * s.wide_pitch;
  s.bias = s.inside + rows * 4;
  s.bytes = s.bias + v.out_channels * 4;
  return s;
}

constexpr int tiles_across(const Inverted& v, const InvertedTiling& tiling) {
  return (v.out_width + tiling.width - 1) / tiling.width;
}
constexpr int tiles_down(const Inverted& v, const InvertedTiling& tiling) {
  return (v.out_height + tiling.height - 1) / tiling.height;
}

/// What a kernel takes.
struct InvertedLaunch {
  Inverted step;
  GroupLayout layout;
  InvertedShared shared;
  std::int32_t split = 1;
};

/// Of 227 KiB that a block can have, compute capability 9.0; the kernel itself has some more.
inline constexpr int kMostInvertedBytes = 226 * 1024;

constexpr bool fits(const Inverted& v, const InvertedTiling& tiling) {
  return inverted_shared(v, tiling).bytes <= kMostInvertedBytes;
}

/// The sizes of tiles that there are kernels for.
inline constexpr InvertedTiling kTileSizes[] = {{8, 16}, {8, 8}, {8, 4}, {4, 4}};
inline constexpr int kMostSplit = 8;  ///< blocks of a cluster, anywhere

constexpr int inverted_blocks(const Inverted& v, const InvertedTiling& tiling, int batch) {
  return tiles_across(v, tiling) * tiles_down(v, tiling) * tiling.split * batch;
}

/// Multiprocessors of an H200 that blocks reach: a cluster's lie in one of its parts, whose sizes
/// are no multiples of 4 and 8. 128 blocks in clusters of 4 took twice as long as in clusters of 2.
constexpr int reached(int split) { return split <= 2 ? 132 : split == 4 ? 112 : 96; }

/// Blocks of a multiprocessor. Few blocks spread best over all of them if they are alone on theirs:
/// those of the next step, which come early, then come where this one's were.
constexpr int inverted_resident(const Inverted& v, const InvertedTiling& tiling, int batch) {
  const bool many = inverted_blocks(v, tiling, batch) > reached(1);
  return many && inverted_shared(v, tiling).bytes <= kMostInvertedBytes / 2 ? 2 : 1;
}

/// Cycles that a step takes, roughly: fitted to what an H200 measured of every tiling of the
/// MobileViTs' inverted residuals.
constexpr double inverted_cost(const Inverted& v, const InvertedTiling& tiling, int batch) {
  const InvertedShared s = inverted_shared(v, tiling);
  const int halo = halo_bands(tiling.width, tiling.height, v.stride);
  const int pixels = tiling.width * tiling.height;
  const int runs = pixels / s.run * s.groups * kGroupChannels / 2;
  const int strips = strips_of(v.out_channels);
  const double weights = s.groups * group_layout(v.channels, v.out_channels).bytes / 80.0;
  const double expand =
      200 + pieces_each(s.groups * halo) * (400.0 + 3 * rounded_up(v.channels, 16));
  const int rounds = (runs + kInvertedThreads - 1) / kInvertedThreads;
  const double convolve = 200 + rounds * (150.0 + s.run * 60);
  const double project = 200 + pieces_each(pixels / 16 * strips) * (300.0 + 110 * s.groups);
  const double add_up = tiling.split > 1 ? 1500 + 50 * tiling.split : 0;
  const double fetch = 2000 + halo * 60 + weights;
  const double block = fetch + expand + convolve + project + add_up;
  const int blocks = inverted_blocks(v, tiling, batch);
  const int places = reached(tiling.split);
  const int waves = (blocks + places - 1) / places;
  if (inverted_resident(v, tiling, batch) == 1) return waves * block;
  const int pairs = (blocks + 2 * places - 1) / (2 * places);
  return 0.85 * block * (pairs <= 2 ? pairs * 2.0 : static_cast<double>(blocks) / places);
}

constexpr InvertedTiling tiling_for(const Inverted& v, int batch) {
  InvertedTiling best{4, 4, kMostSplit};
  for (InvertedTiling tiling : kTileSizes) {
    for (tiling.split = 1; tiling.split <= kMostSplit; tiling.split *= 2) {
      if (fits(v, tiling) && inverted_cost(v, tiling, batch) < inverted_cost(v, best, batch)) {
        best = tiling;
      }
    }
  }
  return best;
}

/// Whether some tiling fits.
constexpr bool can_be_one_step(const Inverted& v) { return fits(v, {4, 4, kMostSplit}); }

}  // namespace assay::backend::cuda
