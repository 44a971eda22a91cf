#pragma once
/// The reference backend: scalar, double accumulation, no cleverness. The oracle of every test.
#include <memory>

#include "backend/backend.h"

namespace assay::backend::reference {

/// One step a node at every optimization level; `threads` is of no use to it. The graph is one that
/// graph::verify() has accepted.
std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph, const LowerOptions& options);

}  // namespace assay::backend::reference
