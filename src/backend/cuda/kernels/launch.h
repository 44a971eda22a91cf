#pragma once
/// Running instructions on a device. All are asynchronous on `stream` and return the launch's
/// error.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

/// The most instructions that one kernel takes.
inline constexpr std::size_t kMostTogether = 8;

/// How many of `instructions`, from the first on, one kernel can do side by side: products of one
/// kind and one phase. At least 1.
std::size_t together(std::span<const Instruction> instructions, const Call& call);

/// Instructions that go together, as one kernel. With `overlap` it may start before the kernel in
/// front of it on the stream has ended (programmatic dependent launch): it waits within.
cudaError_t launch(std::span<const Instruction> group, const Call& call, bool overlap,
                   cudaStream_t stream);

/// Raises the kernels' limits of shared memory; once a device, before the first launch.
cudaError_t prepare_kernels();

}  // namespace assay::backend::cuda
