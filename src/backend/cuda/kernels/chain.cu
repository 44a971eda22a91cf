#include <algorithm>

#include "backend/cuda/kernels/chain_attention.cuh"
#include "backend/cuda/kernels/chain_kernel.h"
#include "backend/cuda/kernels/gate.cuh"

namespace assay::backend::cuda {
namespace {

extern __shared__ __align__(128) std::byte dynamic_shared[];

struct Chains {
  const Chain* chains[kMostChains];
  std::int32_t first_block[kMostChains];
  std::int32_t count = 0;
};

template <int kBands>
__device__ void load_source(const Chain& c, const ChainTile<kBands>& tile) {
  if (c.source == ChainSource::rows) {
    load_rows(c, tile);
  } else if (c.source == ChainSource::convolution) {
    load_patches(c, tile);
  }
  commit_copies();
  wait_copies<0>();
  __syncthreads();
}

/// Runs a cluster's tile through all stages.
template <int kBands, bool kCodes>
__device__ void run_chain(const Chain& c, ChainBarriers& barriers, ChainWeights& weights,
                          int tile_index) {
  const ChainTile<kBands> tile(c, dynamic_shared, tile_index);
  const auto* const constants = reinterpret_cast<const float*>(dynamic_shared + c.constants_at);
  Gate gate;
  gate.open();
  load_source(c, tile);
  wait(shared_address(&barriers.constants), 0);
  auto* const partial = reinterpret_cast<float*>(dynamic_shared + c.partial_at);
  const int count = c.stage_count;
  const int cluster = c.cluster;
  bool meets = true;  // the cluster's first barrier is still open
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    // A copy in registers: what shared memory holds would be read again behind each barrier.
    const ChainStage s = c.stages[i];
    const bool attends_next = i + 1 < count && c.stages[i + 1].op == StageOp::attention;
    const std::uint32_t arrivals = shared_address(&barriers.shared[i]);
    if (s.op == StageOp::attention) {
      if (meets) cluster_wait();
      meets = false;
      ChainAttend<kBands, kCodes>(c, s, tile, arrivals).run();
    } else {
      uint2 residual = make_uint2(0, 0);
      if (s.has_residual != 0) residual = load_residual(s, tile, tile.part * kQuad);
      const bool unready = s.norm >= 0 || s.converts != 0;
      if (unready) prepare_rows<kBands, kCodes>(s, tile, constants);
      if (s.clears != 0) {
        __syncwarp();
        clear_ends(s, tile);
      }
      if (unready || s.clears != 0) __syncthreads();
      if (kCodes && s.operand == Store::e4m3) {
        multiply_rows<__nv_fp8_e4m3>(s, tile, partial, weights);
      } else {
        multiply_rows<__half>(s, tile, partial, weights);
      }
      __syncthreads();
      if (meets) cluster_wait();
      meets = false;
      ChainFinish<kBands, kCodes> finish(s, tile, partial, constants, cluster, arrivals);
      finish.run(residual);
      finish.write_late();
    }
    if (attends_next) {
      // Attention reads keys that other blocks may have written to memory.
      cluster_arrive();
      cluster_wait();
    }
    if (i + 1 == count) break;
    // Rows that have come from everywhere say that all of this block have sent theirs, and so that
    // the sums are free. Other stages must ask.
    const int from = c.stages[i + 1].from;
    if (from != i) __syncthreads();
    if (from >= 0) wait(shared_address(&barriers.shared[from]), 0);
  }
}

template <bool kCodes>
__global__ void __launch_bounds__(kChainThreads, 1)
    chain_kernel(const __grid_constant__ Chains group, const __grid_constant__ Call /*call*/) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  __shared__ ChainBarriers barriers;
  __shared__ Chain c;
  const int block = static_cast<int>(blockIdx.x);
  const int which = group.count > 1 && block >= group.first_block[1] ? 1 : 0;
  static_assert(sizeof(Chain) % 8 == 0 && sizeof(Chain) / 8 <= kChainThreads);
  const auto* const from =
      reinterpret_cast<const std::uint64_t*>(which == 0 ? group.chains[0] : group.chains[1]);
  if (threadIdx.x < sizeof(Chain) / 8) {
    reinterpret_cast<std::uint64_t*>(&c)[threadIdx.x] = __ldg(from + threadIdx.x);
  }
  __syncthreads();
  const int rank = cluster_rank();
  ChainWeights weights(c, barriers, rank);
  if (threadIdx.x < 32) weights.prepare(shared_address(dynamic_shared));
  if (const int stage = static_cast<int>(threadIdx.x) - 64; stage >= 0 && stage < 32) {
    const std::uint32_t barrier = shared_address(&barriers.shared[stage]);
    const bool is_one = stage < c.stage_count;
    if (is_one) {
      init_barrier(barrier, 1);
      publish_barriers();
    }
    __syncwarp();
    const ChainStage& s = c.stages[is_one ? stage : 0];
    const int bytes = s.out < 0 ? 0 : c.tile_rows * s.out_width * bytes_of(s.out_store);
    if (is_one) expect_bytes(barrier, bytes);
  }
  if (threadIdx.x == 32) {
    const std::uint32_t barrier = shared_address(&barriers.constants);
    init_barrier(barrier, 1);
    publish_barriers();
    copy_bulk(shared_address(dynamic_shared) + c.constants_at,
              c.constants + static_cast<std::int64_t>(rank) * c.constants_bytes, c.constants_bytes,
              barrier);
  }
  __syncthreads();
  cluster_arrive_relaxed();  // the others' shared memory is theirs when all have come here
  const int first_block = which == 0 ? 0 : group.first_block[1];
  const int tile = (block - first_block) >> (31 - __clz(c.cluster));  // a power of two
  if (c.tile_rows == 16) {
    run_chain<1, kCodes>(c, barriers, weights, tile);
  } else if (c.tile_rows == 32) {
    run_chain<2, kCodes>(c, barriers, weights, tile);
  } else {
    run_chain<4, kCodes>(c, barriers, weights, tile);
  }
}

}  // namespace

cudaError_t launch_chains(std::span<const Instruction> group, const Call& call, bool overlap,
                          cudaStream_t stream) {
  Chains chains;
  int blocks = 0;
  int shared = 0;
  for (const Instruction& instruction : group) {
    const Chain& c = instruction.chain;
    chains.chains[chains.count] = instruction.chain_on_device;
    chains.first_block[chains.count++] = blocks;
    blocks += chain_tiles(c, call.batch) * c.cluster;
    shared = std::max(shared, c.shared_bytes);
  }
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = static_cast<unsigned>(group.front().chain.cluster);
  attributes[0].val.clusterDim.y = 1;
  attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kChainThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(shared);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = overlap ? 2 : 1;
  const bool codes = std::ranges::any_of(
      group, [](const Instruction& instruction) { return has_codes(instruction.chain); });
  return codes ? cudaLaunchKernelEx(&config, chain_kernel<true>, chains, call)
               : cudaLaunchKernelEx(&config, chain_kernel<false>, chains, call);
}

cudaError_t prepare_chains() {
  for (auto* const kernel : {chain_kernel<true>, chain_kernel<false>}) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostChainShared);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace assay::backend::cuda
