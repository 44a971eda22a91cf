#pragma once
/// How a chain's weights come into shared memory: in chunks, each when its place is free, with a
/// barrier that tells when it is there.
#include "backend/cuda/kernels/chain.h"
#include "backend/cuda/kernels/cluster.cuh"

namespace assay::backend::cuda {

struct ChainBarriers {
  std::uint64_t full[kMostChunks];
  std::uint64_t read[kMostChunks];
  std::uint64_t shared[kMostStages];  ///< a stage's output has come from all blocks
  std::uint64_t constants;
};

__device__ inline int pieces_across(const ChainStage& s) {
  return (s.columns + kPieceColumns - 1) / kPieceColumns;
}

/// A lane of warp 0 sends for each chunk.
class ChainWeights {
 public:
  __device__ ChainWeights(const Chain& c, ChainBarriers& barriers, int rank)
      : c_(c),
        full_(shared_address(barriers.full)),
        read_(shared_address(barriers.read)),
        rank_(rank) {
    static_assert(kMostChunks <= 32);
  }

  /// By warp 0, before the block's first barrier.
  __device__ void prepare(std::uint32_t shared) const {
    const int chunk = static_cast<int>(threadIdx.x);
    if (chunk < c_.chunk_count) {
      init_barrier(full_ + chunk * 8, 1);
      init_barrier(read_ + chunk * 8, kChainWarps);
      publish_barriers();
    }
    __syncwarp();
    if (chunk < c_.chunk_count && c_.chunks[chunk].after < 0) send(chunk, shared);
  }

  /// By every thread: where the next chunk's pieces lie, once they are there.
  __device__ std::uint32_t take(std::uint32_t shared) const {
    const int to = c_.chunks[taken_].to;
    wait(full_ + taken_ * 8, 0);
    return shared + to;
  }
  /// By every thread, when it has read the chunk.
  __device__ void give_back(std::uint32_t shared) {
    if (c_.chunks[taken_].signals != 0) {
      __syncwarp();
      const int lane = static_cast<int>(threadIdx.x);
      if (lane % 32 == 0) arrive(read_ + taken_ * 8);
      if (lane < c_.chunk_count && c_.chunks[lane].after == taken_) {
        wait(read_ + taken_ * 8, 0);
        send(lane, shared);
      }
    }
    ++taken_;
  }

 private:
  __device__ void send(int index, std::uint32_t shared) const {
    const ChainChunk chunk = c_.chunks[index];
    copy_bulk(shared + chunk.to, c_.weights + rank_ * c_.weights_stride + chunk.from, chunk.bytes,
              full_ + index * 8);
  }

  const Chain& c_;
  std::uint32_t full_;
  std::uint32_t read_;
  int rank_;
  int taken_ = 0;
};

}  // namespace assay::backend::cuda
