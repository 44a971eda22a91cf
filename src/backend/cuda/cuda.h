#pragma once
/// The room for running graphs on an NVIDIA GPU: a lowering that turns operators into instructions
/// over planned memory (lower_*.cpp), the kernels that do them (kernels/), and sessions that run
/// the list of instructions as one CUDA graph or as one kernel. Nothing of CUDA is seen from
/// outside.
#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"

namespace assay::backend::cuda {

/// Lowers a graph that graph::verify() has passed for the machine's GPU of number `device`. Throws
/// unsupported where that is none of compute capability 9.0, and for a node that the backend can't
/// run, with its name. Results are the same bits in every call of the same batch size.
std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph, int device,
                            const LowerOptions& options);

/// Why nothing can run on `device`; nothing where it can.
std::optional<std::string> why_unavailable(int device);

}  // namespace assay::backend::cuda
