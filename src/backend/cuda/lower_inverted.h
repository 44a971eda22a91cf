#pragma once
/// MobileNet's inverted residual as one step: a pointwise convolution, a depthwise one and another
/// pointwise one (Sandler et al., arXiv 1801.04381, section 3.3).
#include <cstddef>
#include <optional>

#include "backend/cuda/consumers.h"
#include "backend/cuda/lowering.h"
#include "graph/graph.h"

namespace assay::backend::cuda {

inline constexpr std::size_t kInvertedNodes = 3;

struct InvertedResidual {
  const graph::Node* expand = nullptr;
  const graph::Node* depthwise = nullptr;
  const graph::Node* project = nullptr;
};

/// The nodes from `first` on, if they are one whose inner values nothing else reads, and of a kind
/// that the kernel computes: fp16 products, SiLU, 3 × 3 with stride 1 or 2.
std::optional<InvertedResidual> inverted_at(const graph::Graph& graph, const Consumers& consumers,
                                            std::size_t first);

/// Adds the step, unless the values do not lie as the kernel wants them or it does not fit a
/// multiprocessor: then it returns false and has added nothing.
bool lower_inverted(Lowering& lowering, const InvertedResidual& nodes);

}  // namespace assay::backend::cuda
