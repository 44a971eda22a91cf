#pragma once
/// How the simple steps are cut into tiles: 256 numbers a block where each is computed on its own,
/// a row a warp where rows are. None but the mean needs shared memory.
#include "backend/cuda/kernels/gate.cuh"
#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

inline constexpr int kMostTiles = 1 << 20;  ///< blocks of a launch; each then does several tiles

constexpr int tiles_of(std::int64_t pieces, int each) {
  const std::int64_t tiles = (pieces + each - 1) / each;
  return static_cast<int>(tiles < kMostTiles ? tiles : kMostTiles);
}

constexpr std::int64_t copy_numbers(const Copy& c) {
  std::int64_t count = 1;
  for (const std::int32_t dim : c.dims) count *= dim;
  return count;
}
constexpr std::int64_t resize_numbers(const Resize& r) {
  return static_cast<std::int64_t>(r.out_height) * r.out_width * r.channels;
}

constexpr int tiles(const Copy& c, int batch) {
  return tiles_of(copy_numbers(c) * batch, kThreads);
}
constexpr int tiles(const Normalize& n, int batch) {
  return tiles_of(static_cast<std::int64_t>(n.rows) * batch, kThreads);
}
constexpr int tiles(const Resize& r, int batch) {
  return tiles_of(resize_numbers(r) * batch, kThreads);
}
constexpr int tiles(const Binary& b, int batch) {
  return tiles_of(static_cast<std::int64_t>(b.rows) * b.width * batch, kThreads);
}
constexpr int tiles(const Rowwise& r, int batch) {
  return tiles_of(static_cast<std::int64_t>(r.rows) * batch, kThreads / 32);
}
/// Whether a thread computes eight channels at once: depthwise, of f16 pixels in aligned octets.
constexpr bool is_quick(const Grouped& g) {
  return g.depthwise != 0 && g.has_residual == 0 && g.in.store == Store::f16 &&
         g.out_channels % 8 == 0 && g.in.row_stride % 8 == 0 && g.in.image_stride % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(g.in.data) % 16 == 0;
}
constexpr int tiles(const Grouped& g, int batch) {
  const std::int64_t numbers = static_cast<std::int64_t>(g.out_rows) * g.out_channels * batch;
  return tiles_of(is_quick(g) ? numbers / 8 : numbers, kThreads);
}
/// A block of a mean: this many columns, each summed by 256 / this many threads.
inline constexpr int kMeanColumns = 8;
constexpr int mean_slices(const Mean& m) { return (m.inner + kMeanColumns - 1) / kMeanColumns; }
constexpr int tiles(const Mean& m, int batch) {
  return tiles_of(static_cast<std::int64_t>(m.outer) * mean_slices(m) * batch, 1);
}

constexpr std::int64_t stem_pieces(const Stem& s) {
  return static_cast<std::int64_t>(s.rows) * (s.n / kStemColumns);
}
constexpr int tiles(const Stem& s, int batch) { return tiles_of(stem_pieces(s) * batch, kThreads); }

constexpr int pooled_slices(const Pooled& p) { return (p.n + kPooledOutputs - 1) / kPooledOutputs; }
constexpr int pooled_sharing(const Pooled& p) {
  return p.k / 8 < kThreads ? kThreads / (p.k / 8) : 1;
}
constexpr int tiles(const Pooled& p, int batch) { return pooled_slices(p) * batch; }

template <typename Step>
constexpr int shared_bytes(const Step& /*step*/, int /*batch*/) {
  return 0;
}
constexpr int shared_bytes(const Mean& /*mean*/, int /*batch*/) { return kThreads * 4; }
constexpr int shared_bytes(const Pooled& p, int /*batch*/) { return pooled_sharing(p) * p.k * 4; }

}  // namespace assay::backend::cuda
