#pragma once
/// Launching inverted residuals: a translation unit of their own, for they take a while to compile.
#include <cuda_runtime_api.h>

#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

/// As launch() of launch.h.
cudaError_t launch_inverted(const Inverted& step, int batch, bool overlap, cudaStream_t stream);

/// As prepare_kernels() of launch.h.
cudaError_t prepare_inverted_kernels();

}  // namespace assay::backend::cuda
