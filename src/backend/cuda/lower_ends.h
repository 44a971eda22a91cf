#pragma once
/// What the first and the last step of a network take along: see kernels/ends.h.
#include "backend/cuda/lowering.h"

namespace assay::backend::cuda {

/// The convolution that alone reads the input and can read the call's pixels itself; null: there is
/// none, and the input is a step of its own.
const graph::Node* stem_of(const graph::Graph& graph, const Consumers& consumers);
void lower_stem(Lowering& lowering, const graph::Node& conv);

/// Lowers a mean over rows and the linear layer that reads it as one step; false where they are
/// none, or nothing of that kind.
bool lower_pooled(Lowering& lowering, const graph::Node& mean, const graph::Node& linear);

}  // namespace assay::backend::cuda
