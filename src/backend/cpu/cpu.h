#pragma once
/// The room for running graphs on a CPU in fp32: kernels of their own per instruction set
/// (kernels/), a lowering that turns operators into steps over planned memory (lower*.cpp), and
/// sessions that run the steps on a few threads. docs/cpu-notes.md records what was measured.
#include <memory>

#include "backend/backend.h"

namespace assay::backend::cpu {

/// Lowers a graph that graph::verify() has passed. Throws unsupported with the node's name.
/// Results are the same bits for any number of threads and any batch; they depend on the
/// instruction set (isa.h) in their last bits.
std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph, const LowerOptions& options);

}  // namespace assay::backend::cpu
