#pragma once
/// Products and attentions while their pointers are still places: what lowering can still change.
#include "backend/cuda/kernels/instruction.h"
#include "backend/cuda/place.h"
#include "backend/cuda/weights.h"
#include "graph/graph.h"

namespace assay::backend::cuda {

struct Addresses;

struct ProductStep {
  Product product;  ///< all but the pointers
  const graph::Node* node = nullptr;
  std::int64_t channels_padded = 0;   ///< as pack_weight() takes it
  const graph::Node* norm = nullptr;  ///< the LayerNorm that the operand goes through
  Place a, first, residual, out;
  HeadPadding n_heads, k_heads;
  PackedWeight weight;  ///< once it is packed
  Kept norm_weight, norm_bias, depthwise_weight, depthwise_bias;

  [[nodiscard]] Instruction at(const Addresses& at) const;
};

struct AttentionStep {
  Attention attention;  ///< all but the pointers
  Place q, k, v, out;

  [[nodiscard]] Instruction at(const Addresses& at) const;
};

}  // namespace assay::backend::cuda
