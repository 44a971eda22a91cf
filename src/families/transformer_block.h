#pragma once
/// The pre-norm transformer block that the families share, as in "An Image is Worth 16x16 Words"
/// (arXiv 2010.11929), figure 1; timm/models/vision_transformer.py, Block.
#include <cstdint>

#include "graph/builder.h"

namespace assay::families {

struct TransformerBlock {
  int heads = 1;
  std::int64_t hidden = 0;  ///< the MLP's width
  bool qkv_bias = true;
  double epsilon = 1e-5;
  graph::Activation activation = graph::Activation::gelu;
};

/// x [..., N, C] → [..., N, C]: x += proj(attention(qkv(norm1(x)))); x += fc2(act(fc1(norm2(x)))).
graph::ValueId transformer_block(const graph::Builder& builder, const graph::Scope& scope,
                                 graph::ValueId x, const TransformerBlock& block);

/// 1 / √(head size).
double attention_scale(std::int64_t channels, int heads);

}  // namespace assay::families
