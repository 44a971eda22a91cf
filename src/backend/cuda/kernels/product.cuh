#pragma once
/// Products by the tensor cores: one block computes a tile of `Shape::rows` × `Shape::columns`
/// outputs. The weight streams through a ring of shared memory, 128 bytes of depth at a time; the
/// other operand streams beside it where it can be copied as it lies, and else is computed into
/// shared memory a window of depth at a time (source.cuh).
#include "backend/cuda/kernels/mma.cuh"
#include "backend/cuda/kernels/product_epilogue.cuh"
#include "backend/cuda/kernels/product_shape.h"
#include "backend/cuda/kernels/source.cuh"

namespace assay::backend::cuda {

/// The types that a block multiplies, by what they are in memory.
template <Store kStore>
struct OperandOf;
template <>
struct OperandOf<Store::f16> {
  using Type = __half;
};
template <>
struct OperandOf<Store::bf16> {
  using Type = __nv_bfloat16;
};
template <>
struct OperandOf<Store::e4m3> {
  using Type = __nv_fp8_e4m3;
};
template <>
struct OperandOf<Store::f32> {
  using Type = float;
};

/// One tile of one product. Where `kFast`, the first operand is f16 in rows of whole, aligned
/// octets (convolutions: pixels of those).
template <typename Shape, Store kStore, Source kSource, bool kFast>
class ProductTile {
 public:
  using Operand = typename OperandOf<kStore>::Type;
  static constexpr int kDepth = kChunkBytes / static_cast<int>(sizeof(Operand));  ///< of a chunk

  __device__ ProductTile(const Product& p, const Call& call, std::byte* shared, int tile)
      : p_(p),
        total_rows_(p.rows * call.batch),
        chunks_((p.k + kDepth - 1) / kDepth),
        ring_(shared),
        a_(shared + Shape::stages * Shape::columns * kChunkBytes) {
    const int across = (p.n + Shape::columns - 1) / Shape::columns;
    first_row_ = tile / across * Shape::rows;
    first_column_ = tile % across * Shape::columns;
  }

  __device__ void run(Gate& gate) {
    find_weight();
#pragma unroll 1
    for (int chunk = 0; chunk < Shape::stages; ++chunk) {
      fetch_weight(chunk);
      commit_copies();
    }
    gate.open();
    if constexpr (kStreams) {
      find_rows();
#pragma unroll 1
      for (int chunk = 0; chunk < Shape::stages; ++chunk) {
        fetch_rows(chunk);
        commit_copies();
      }
#pragma unroll 1
      for (int chunk = 0; chunk < chunks_; ++chunk) step(chunk, chunk % Shape::stages);
    } else {
      const bool at_once = kSource == Source::layer_norm && kFast && p_.k <= 32 * kOctet;
      if (at_once) fill_normalized();
      if (kSource == Source::layer_norm && !at_once) find_moments();
#pragma unroll 1
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        if (!at_once && chunk % Shape::window == 0) fill_window(chunk);
        step(chunk, chunk % Shape::window);
      }
    }
    wait_copies<0>();
    __syncthreads();  // the ring becomes the place where sums are added up
    finish();
  }

 private:
  static constexpr int kWarpRows = Shape::rows / Shape::warps_down;
  static constexpr int kWarpColumns = Shape::columns / Shape::warps_across;
  static constexpr int kBands = kWarpRows / 16;
  static constexpr int kStrips = kWarpColumns / 8;
  static constexpr int kSteps = 4 / Shape::warps_deep;  ///< of a warp, 32 bytes of depth each
  /// The first operand is copied as it lies.
  static constexpr bool kStreams = streams_a(kSource, kStore, kFast);
  static constexpr int kWeightPieces =
      Shape::columns * 8 / kProductThreads;  ///< of a thread, in a chunk
  static constexpr int kRowPieces = (Shape::rows * 8 + kProductThreads - 1) / kProductThreads;
  /// Threads without a row do nothing when rows are fetched.
  static constexpr bool kAllHaveRows = Shape::rows * 8 % kProductThreads == 0;

  /// Where this thread's pieces of the weight lie: found once, for a few instructions a chunk is
  /// all that there is time for.
  __device__ void find_weight() {
    const auto* const weight = static_cast<const std::byte*>(p_.weight);
    const std::int64_t row_bytes = static_cast<std::int64_t>(p_.k_padded) * sizeof(Operand);
#pragma unroll
    for (int i = 0; i < kWeightPieces; ++i) {
      const int index = static_cast<int>(threadIdx.x) + i * kProductThreads;
      const int column = first_column_ + index / 8;
      weight_there_[i] = column < p_.n;
      weight_from_[i] = weight + (weight_there_[i] ? column * row_bytes : 0) + index % 8 * 16;
    }
  }

  __device__ void fetch_weight(int chunk) {
    if (chunk >= chunks_) return;
    const std::uint32_t stage =
        shared_address(ring_) + chunk % Shape::stages * Shape::columns * kChunkBytes;
#pragma unroll
    for (int i = 0; i < kWeightPieces; ++i) {
      const int index = static_cast<int>(threadIdx.x) + i * kProductThreads;
      copy_async<16>(stage + swizzled(index / 8, index % 8), weight_from_[i] + chunk * kChunkBytes,
                     weight_there_[i]);
    }
  }

  /// The same of the other operand, where it is copied as it lies: the row's begin, and of a
  /// convolution the pixel under the kernel's first tap.
  __device__ void find_rows() {
    piece_ = static_cast<int>(threadIdx.x) % 8 * (16 / static_cast<int>(sizeof(Operand)));
    if constexpr (kSource == Source::convolution) {
      tap_y_ = 0;
      tap_x_ = 0;
      channel_ = piece_;
      settle_tap();
    }
#pragma unroll
    for (int i = 0; i < kRowPieces; ++i) {
      const int index = first_row_ + static_cast<int>(threadIdx.x) / 8 + i * (kProductThreads / 8);
      row_there_[i] = index < total_rows_;
      const RowOf row = row_of(p_, row_there_[i] ? index : 0);
      if constexpr (kSource == Source::convolution) {
        const Window& w = p_.window;
        top_[i] = row.row / w.out_width * w.stride_y - w.pad_y;
        left_[i] = row.row % w.out_width * w.stride_x - w.pad_x;
        row_from_[i] = static_cast<const Operand*>(p_.a.data) + row.image * p_.a.image_stride;
      } else {
        const Line line = line_of(p_, row);
        row_from_[i] = static_cast<const Operand*>(line.view->data) + line.offset;
      }
    }
  }

  /// Brings the channel of this thread's piece below `channels`, tap by tap.
  __device__ void settle_tap() {
    const Window& w = p_.window;
    while (channel_ >= w.channels) {
      channel_ -= w.channels;
      if (++tap_x_ == w.kernel_width) {
        tap_x_ = 0;
        ++tap_y_;
      }
    }
  }

  /// Chunks are fetched in order, one after the other.
  __device__ void fetch_rows(int chunk) {
    if (chunk >= chunks_) return;
    if (!kAllHaveRows && static_cast<int>(threadIdx.x) >= Shape::rows * 8) return;
    const std::uint32_t stage =
        shared_address(a_) + chunk % Shape::stages * Shape::rows * kChunkBytes;
    const int k = chunk * kDepth + piece_;
#pragma unroll
    for (int i = 0; i < kRowPieces; ++i) {
      const int index = static_cast<int>(threadIdx.x) + i * kProductThreads;
      bool there = row_there_[i] && k < p_.k;
      const Operand* from = row_from_[i] + k;
      if constexpr (kSource == Source::convolution) {
        const Window& w = p_.window;
        const int pixel =
            pixel_at(w, top_[i] + tap_y_ * w.dilation_y, left_[i] + tap_x_ * w.dilation_x);
        there = there && pixel >= 0;
        from = row_from_[i] + static_cast<std::int64_t>(max(pixel, 0)) * p_.a.row_stride + channel_;
      }
      copy_async<16>(stage + swizzled(index / 8, index % 8), from, there);
    }
    if constexpr (kSource == Source::convolution) {
      channel_ += kDepth;
      settle_tap();
    }
  }

  /// Rows of up to 256 numbers: a lane holds eight of each, and a warp works on two rows at once,
  /// so that their loads and sums overlap.
  __device__ void fill_normalized() {
    constexpr int kRows = 2;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int begin = lane * kOctet;
    const NormConstants constants = norm_constants(p_, begin);
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x) / 32 * kRows; row < Shape::rows;
         row += kProductWarps * kRows) {
      float x[kRows][kOctet] = {};
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (first_row_ + row + r >= total_rows_) continue;
        const Line line = line_of(p_, row_of(p_, first_row_ + row + r));
        load_octet<kFast>(*line.view, line.offset, begin, p_.k, x[r]);
      }
      Moments moments[kRows];
      moments_of_rows(x, p_.k, p_.epsilon, moments);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        normalize_octet(p_, moments[r], constants, x[r]);
        if (begin < chunks_ * kDepth) keep(row + r, lane, x[r]);
      }
    }
  }

  __device__ void find_moments() {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    auto* const moments = reinterpret_cast<Moments*>(moments_place());
    for (int row = warp; row < Shape::rows; row += kProductWarps) {
      if (first_row_ + row >= total_rows_) continue;
      const Moments m = moments_of(p_, line_of(p_, row_of(p_, first_row_ + row)));
      if (threadIdx.x % 32 == 0) moments[row] = m;
    }
    __syncthreads();
  }

  [[nodiscard]] __device__ std::byte* moments_place() const {
    return a_ + Shape::window * Shape::rows * kChunkBytes;
  }

  /// Computes the chunks from `first` on that fit the window.
  __device__ void fill_window(int first) {
    if (first > 0) __syncthreads();  // the window before has been multiplied
    const int chunks = min(Shape::window, chunks_ - first);
    const auto* const moments = reinterpret_cast<const Moments*>(moments_place());
    constexpr int kOctets = kDepth / kOctet;
    const int across = chunks * kOctets;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < Shape::rows * across; i += kProductThreads) {
      const int row = i / across;
      const int octet = i % across;
      float x[kOctet] = {};
      if (first_row_ + row < total_rows_) {
        const Moments row_moments = kSource == Source::layer_norm ? moments[row] : Moments{};
        source_octet<kSource, kFast>(p_, row_of(p_, first_row_ + row),
                                     first * kDepth + octet * kOctet, row_moments, x);
      }
      keep(row, octet, x);
    }
  }

  /// Rounds eight numbers to the operand's type and puts them into the window.
  __device__ void keep(int row, int octet, const float (&x)[kOctet]) {
    constexpr int kBytes = kOctet * static_cast<int>(sizeof(Operand));
    const int byte = octet * kBytes;
    std::byte* const chunk = a_ + byte / kChunkBytes * Shape::rows * kChunkBytes;
    std::byte* const to = chunk + swizzled(row, byte % kChunkBytes / 16) + byte % 16;
    if constexpr (kStore == Store::f32) {
      *reinterpret_cast<float4*>(to) = make_float4(x[0], x[1], x[2], x[3]);
      std::byte* const next = chunk + swizzled(row, byte % kChunkBytes / 16 + 1);
      *reinterpret_cast<float4*>(next) = make_float4(x[4], x[5], x[6], x[7]);
    } else if constexpr (kStore == Store::e4m3) {
      std::uint32_t words[2];
      pack_words<Store::e4m3>(x, 1.0F / p_.inverse_a_scale, words);
      *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    } else {
      Operand rounded[kOctet];
      for (int i = 0; i < kOctet; ++i) rounded[i] = Operand(x[i]);
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(rounded);
    }
  }

  /// Multiplies one chunk, and sends for the one that takes its place.
  __device__ void step(int chunk, int a_slot) {
    wait_copies<Shape::stages - 1>();
    __syncthreads();
    multiply(ring_ + chunk % Shape::stages * Shape::columns * kChunkBytes,
             a_ + a_slot * Shape::rows * kChunkBytes);
    if (chunk + Shape::stages < chunks_) {
      __syncthreads();  // everyone has read the stage that is written now
      fetch_weight(chunk + Shape::stages);
      if constexpr (kStreams) fetch_rows(chunk + Shape::stages);
    }
    commit_copies();  // an empty one counts too: waiting counts groups
  }

  __device__ void multiply(const std::byte* b, const std::byte* a) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int deep = warp % Shape::warps_deep;
    const int row = warp / Shape::warps_deep % Shape::warps_down * kWarpRows;
    const int column = warp / Shape::warps_deep / Shape::warps_down * kWarpColumns;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      if constexpr (kStore == Store::f32) {
        multiply_floats(a, b, row, column, deep * kSteps + i);
      } else {
        multiply_matrices(shared_address(a), shared_address(b), row, column, deep * kSteps + i);
      }
    }
  }

  __device__ void multiply_matrices(std::uint32_t a, std::uint32_t b, int row, int column,
                                    int step) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    std::uint32_t left[kBands][4];
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
      load_matrices(left[band], a + swizzled(row + band * 16 + lane % 16, step * 2 + lane / 16));
    }
#pragma unroll
    for (int strip = 0; strip < kStrips; strip += 2) {
      std::uint32_t right[4];
      load_matrices(right, b + swizzled(column + strip * 8 + lane % 8 + lane / 16 * 8,
                                        step * 2 + lane / 8 % 2));
#pragma unroll
      for (int band = 0; band < kBands; ++band) {
        multiply_add<Operand>(sums_[band][strip], left[band], right[0], right[1]);
        multiply_add<Operand>(sums_[band][strip + 1], left[band], right[2], right[3]);
      }
    }
  }

  /// The same layout of sums without tensor cores, which have no fp32: 8 numbers of depth.
  __device__ void multiply_floats(const std::byte* a, const std::byte* b, int row, int column,
                                  int step) {
    const int group = static_cast<int>(threadIdx.x) % 32 / 4;
    const int pair = static_cast<int>(threadIdx.x) % 4 * 2;
    const auto at = [](const std::byte* rows, int index, int k) {
      return *reinterpret_cast<const float*>(rows + swizzled(index, k / 4) + k % 4 * 4);
    };
    for (int k = step * 8; k < step * 8 + 8; ++k) {
#pragma unroll
      for (int band = 0; band < kBands; ++band) {
        const float top = at(a, row + band * 16 + group, k);
        const float bottom = at(a, row + band * 16 + group + 8, k);
#pragma unroll
        for (int strip = 0; strip < kStrips; ++strip) {
          float(&sum)[4] = sums_[band][strip];
          const float left = at(b, column + strip * 8 + pair, k);
          const float right = at(b, column + strip * 8 + pair + 1, k);
          sum[0] = fmaf(top, left, sum[0]);
          sum[1] = fmaf(top, right, sum[1]);
          sum[2] = fmaf(bottom, left, sum[2]);
          sum[3] = fmaf(bottom, right, sum[3]);
        }
      }
    }
  }

  /// Adds up what the warps of different depths have, and writes the tile.
  __device__ void finish() {
    auto* const partial = reinterpret_cast<float*>(ring_);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int group = static_cast<int>(threadIdx.x) % 32 / 4;
    const int pair = static_cast<int>(threadIdx.x) % 4 * 2;
    const int deep = warp % Shape::warps_deep;
    const int row = warp / Shape::warps_deep % Shape::warps_down * kWarpRows;
    const int column = warp / Shape::warps_deep / Shape::warps_down * kWarpColumns;
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) {
        const float(&sum)[4] = sums_[band][strip];
        float* const to = partial + (deep * Shape::rows + row + band * 16 + group) * Shape::pitch +
                          column + strip * 8 + pair;
        *reinterpret_cast<float2*>(to) = make_float2(sum[0], sum[1]);
        *reinterpret_cast<float2*>(to + 8 * Shape::pitch) = make_float2(sum[2], sum[3]);
      }
    }
    __syncthreads();
    const bool pairs = writes_pairs(p_);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < Shape::rows * Shape::columns / 2;
         i += kProductThreads) {
      const int row = i / (Shape::columns / 2);
      const int column = i % (Shape::columns / 2) * 2;
      if (first_row_ + row >= total_rows_ || first_column_ + column >= p_.n) continue;
      write_sums(partial + row * Shape::pitch + column, row_of(p_, first_row_ + row),
                 first_column_ + column, pairs);
    }
  }

  __device__ void write_sums(const float* partial, RowOf row, int column, bool pairs) const {
    float2 sum = make_float2(0, 0);
#pragma unroll
    for (int d = 0; d < Shape::warps_deep; ++d) {
      const float2 part =
          *reinterpret_cast<const float2*>(partial + d * Shape::rows * Shape::pitch);
      sum = make_float2(sum.x + part.x, sum.y + part.y);
    }
    if (pairs) {
      write_pair(p_, row, column, sum);
      return;
    }
    write_number(p_, row, column, sum.x);
    if (column + 1 < p_.n) write_number(p_, row, column + 1, sum.y);
  }

  const Product& p_;
  int total_rows_;
  int chunks_;
  std::byte* ring_;
  std::byte* a_;
  int first_row_ = 0;
  int first_column_ = 0;
  const std::byte* weight_from_[kWeightPieces];
  bool weight_there_[kWeightPieces];
  const Operand* row_from_[kRowPieces];
  bool row_there_[kRowPieces];
  int top_[kRowPieces];
  int left_[kRowPieces];
  int piece_ = 0;
  int tap_y_ = 0;
  int tap_x_ = 0;
  int channel_ = 0;
  float sums_[kBands][kStrips][4] = {};
};

template <typename Shape, Store kStore, Source kSource, bool kFast>
__device__ void run_product(const Product& p, const Call& call, Worker worker, Gate& gate,
                            std::byte* shared) {
  const int tiles = product_tiles<Shape>(p, call.batch);
#pragma unroll 1
  for (int tile = worker.index; tile < tiles; tile += worker.count) {
    if (tile != worker.index) __syncthreads();  // the tile before has left shared memory
    ProductTile<Shape, kStore, kSource, kFast>(p, call, shared, tile).run(gate);
  }
}

}  // namespace assay::backend::cuda
