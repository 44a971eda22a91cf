#pragma once
#include <cuda_runtime_api.h>

#include <span>

#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

/// Chains that need nothing of each other, as one kernel: at most kMostChains that go_together().
/// As launch().
cudaError_t launch_chains(std::span<const Instruction> group, const Call& call, bool overlap,
                          cudaStream_t stream);

/// Raises the kernel's limit of shared memory.
cudaError_t prepare_chains();

}  // namespace assay::backend::cuda
