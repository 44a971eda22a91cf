#pragma once
/// Loads and stores of shared memory by address, bulk copies into it, and what blocks of a cluster
/// do with each other's.
#include "backend/cuda/kernels/mma.cuh"

namespace assay::backend::cuda {

__device__ inline std::uint32_t load_shared1(std::uint32_t address) {
  std::uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}
__device__ inline uint2 load_shared_words2(std::uint32_t address) {
  uint2 words;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(words.x), "=r"(words.y)
               : "r"(address)
               : "memory");
  return words;
}
__device__ inline float2 load_shared2(std::uint32_t address) {
  const uint2 words = load_shared_words2(address);
  return make_float2(__uint_as_float(words.x), __uint_as_float(words.y));
}
__device__ inline void load_shared4(std::uint32_t (&words)[4], std::uint32_t address) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}
__device__ inline void store_shared(std::uint32_t address, std::uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
/// Four 8 × 8 matrices of 16-bit numbers; lane l names row l % 8 of matrix l / 8.
__device__ inline void store_matrices(std::uint32_t address, std::uint32_t a, std::uint32_t b,
                                      std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

/// One thread: copies `bytes`, a multiple of 16, by the copy engine. All threads may wait for it
/// behind the block's next barrier.
__device__ inline void begin_bulk(std::uint64_t* barrier, void* to, const void* from, int bytes) {
  const std::uint32_t at = shared_address(barrier);
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes)
               : "memory");
  if (bytes == 0) return;
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(at)
      : "memory");
}
__device__ inline void wait_for_bulk(std::uint64_t* barrier) {
  const std::uint32_t at = shared_address(barrier);
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(at)
        : "memory");
  }
}

/// All threads of all blocks of the cluster arrive, and then wait for the others: what they wrote
/// before is there.
__device__ inline void arrive_at_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// Four numbers into the shared memory of the cluster's block `rank`, where `address` is in its
/// own.
__device__ inline void store_remote(std::uint32_t address, int rank, const float (&x)[4]) {
  std::uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(there), "f"(x[0]),
               "f"(x[1]), "f"(x[2]), "f"(x[3])
               : "memory");
}

}  // namespace assay::backend::cuda
