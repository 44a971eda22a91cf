#include "backend/cpu/kernels/winograd.h"

#include <algorithm>
#include <array>

#include "backend/cpu/kernels/winograd_points.h"
#include "backend/cpu/kernels/winograd_transform.h"

namespace assay::backend::cpu {
namespace {

/// What the points of the tiles in flight may take of a core's cache, in floats: 1.5 MiB of a
/// second-level cache through which the weights pass, too.
constexpr std::int64_t kInFlight = 384 * 1024;
constexpr std::int64_t kLine = kAlignment / sizeof(float);

std::int64_t points_of(int outputs) { return std::int64_t{outputs + 2} * (outputs + 2); }

/// From one point's numbers to the next's: an odd number of cache lines, so that the points of a
/// tile do not fall on the same few sets of a cache.
std::int64_t stride_of(std::int64_t tiles, std::int64_t channels) {
  const std::int64_t lines = (tiles * channels + kLine - 1) / kLine;
  return (lines | 1) * kLine;
}

std::int64_t floats_of(const WinogradWeights& weights, std::int64_t tiles) {
  return points_of(weights.outputs) *
         (stride_of(tiles, weights.channels()) + stride_of(tiles, weights.n()));
}

/// Of `tiles` tiles, how many are in flight at a time.
std::int64_t most_tiles(const WinogradWeights& weights, std::int64_t tiles) {
  std::int64_t most = 8;
  while (most < tiles && floats_of(weights, most + 8) <= kInFlight) most += 8;
  return std::min(most, tiles);
}

std::int64_t zeros_of(const WinogradWeights& weights) {
  return static_cast<std::int64_t>(round_up_to_line(static_cast<std::size_t>(weights.channels())));
}

/// The rows of the weights' transform in one dimension: the value of the polynomial of three
/// coefficients at each point, over the product of the point's distances from the others; at
/// infinity the last coefficient.
using Row = std::array<double, 3>;
std::vector<Row> weight_rows(int outputs) {
  std::vector<double> points{0.0};
  if (outputs == 2) {
    points.insert(points.end(), {kWinogradPoint, -kWinogradPoint});
  } else {
    for (const double point : kWinogradPoints) points.insert(points.end(), {point, -point});
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < points.size(); ++i) {
    double distances = 1;
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (j != i) distances *= points[i] - points[j];
    }
    rows.push_back({1 / distances, points[i] / distances, points[i] * points[i] / distances});
  }
  rows.push_back({0, 0, 1});
  return rows;
}

double at_point(const Row& down, const Row& across, const float* kernel) {
  double sum = 0;
  for (std::size_t y = 0; y < 3; ++y) {
    for (std::size_t x = 0; x < 3; ++x) sum += down[y] * across[x] * double{kernel[y * 3 + x]};
  }
  return sum;
}

/// Tiles [first, first + count): points, products, outputs.
void run_block(const WinogradWeights& weights, const WinogradArgs& args, const WinogradShare& share,
               const TileBlock& block) {
  constexpr std::array<std::int64_t, 1> kOneSegment{0};
  winograd_to_points(weights.outputs, args, weights.channels(), block);
  GemmArgs gemm_args;
  gemm_args.rows = block.count;
  gemm_args.a_row = weights.channels();
  gemm_args.segment_offsets = kOneSegment;
  gemm_args.segment_length = weights.channels();
  gemm_args.c_row = block.output_row;
  for (std::size_t p = 0; p < weights.points.size(); ++p) {
    gemm_args.a = block.input + static_cast<std::int64_t>(p) * block.input_stride;
    gemm_args.c = block.output + static_cast<std::int64_t>(p) * block.output_stride;
    gemm(weights.points[p], gemm_args, {0, block.count, share.panel_begin, share.panel_end});
  }
  winograd_from_points(weights.outputs, args, block);
}

}  // namespace

WinogradWeights pack_winograd(std::span<const float> weight, std::int64_t n, std::int64_t channels,
                              int outputs, ConstantPool& pool) {
  const std::vector<Row> rows = weight_rows(outputs);
  WinogradWeights packed;
  packed.outputs = outputs;
  std::vector<float> point(static_cast<std::size_t>(n * channels));
  for (const Row& down : rows) {
    for (const Row& across : rows) {
      for (std::size_t i = 0; i < point.size(); ++i) {
        point[i] = static_cast<float>(at_point(down, across, weight.data() + i * 9));
      }
      packed.points.push_back(pack_matrix(point, {}, n, channels, pool));
    }
  }
  return packed;
}

std::int64_t winograd_tiles(int outputs, std::int64_t height, std::int64_t width) {
  return ((height + outputs - 1) / outputs) * ((width + outputs - 1) / outputs);
}

WinogradShare winograd_share(const WinogradWeights& weights, const WinogradArgs& args, int worker,
                             int workers) {
  const std::int64_t tiles = winograd_tiles(weights.outputs, args.height, args.width);
  const auto panels = static_cast<std::int64_t>(weights.points.front().panels.size());
  // Fewer tiles than this and a worker waits for weights: better that each reads its own columns.
  constexpr std::int64_t kFewTiles = 8;
  if (tiles / workers >= kFewTiles || panels < workers) {
    return {tiles * worker / workers, tiles * (worker + 1) / workers, 0, panels};
  }
  return {0, tiles, panels * worker / workers, panels * (worker + 1) / workers};
}

std::int64_t winograd_scratch(const WinogradWeights& weights, std::int64_t tiles) {
  return zeros_of(weights) + floats_of(weights, most_tiles(weights, tiles));
}

void winograd(const WinogradWeights& weights, const WinogradArgs& args, const WinogradShare& share,
              float* scratch) {
  if (share.tile_begin == share.tile_end || share.panel_begin == share.panel_end) return;
  const std::vector<Panel>& panels = weights.points.front().panels;
  const auto last = static_cast<std::size_t>(share.panel_end);
  TileBlock block;
  block.zeros = scratch;
  block.input = scratch + zeros_of(weights);
  block.output_row = weights.n();
  block.column_begin = panels[static_cast<std::size_t>(share.panel_begin)].column;
  block.column_end = last < panels.size() ? panels[last].column : weights.n();
  std::fill_n(scratch, weights.channels(), 0.0F);
  const std::int64_t tiles = share.tile_end - share.tile_begin;
  const std::int64_t most = most_tiles(weights, tiles);
  const std::int64_t blocks = (tiles + most - 1) / most;
  for (std::int64_t b = 0; b < blocks; ++b) {
    block.first = share.tile_begin + tiles * b / blocks;
    block.count = share.tile_begin + tiles * (b + 1) / blocks - block.first;
    block.input_stride = stride_of(block.count, weights.channels());
    block.output_stride = stride_of(block.count, weights.n());
    block.output = block.input + points_of(weights.outputs) * block.input_stride;
    run_block(weights, args, share, block);
  }
}

}  // namespace assay::backend::cpu
