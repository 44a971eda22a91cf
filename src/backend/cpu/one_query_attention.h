#pragma once
/// Attention of a single query as one step with the projections of its keys and values (CrossViT's
/// class token visits the other branch so, arXiv 2103.14899): tokens x [N, K] are read as they are,
/// and no key or value is ever computed. For each head, with keys W_k x + b_k and values W_v x +
/// b_v:
///
///     q · (W_k x + b_k) = (W_kᵀ q) · x + q · b_k     the last term is the same for every token,
///                                                    and softmax does not see what all share
///     Σ p (W_v x + b_v) = W_v (Σ p x) + b_v          since Σ p = 1
///
/// So it takes heads × N × K multiply-adds a product where the projections take N × K × C.
#include <cstddef>

#include "graph/graph.h"

namespace assay::backend::cpu {

class Lowering;

/// Whether nodes index and index + 1 are the projections of keys and values, and index + 2 is the
/// attention of one query that alone reads them. Not where one of them is int8, or the attention is
/// fp8: the tokens, keys and values that a recipe quantizes would not be there.
bool is_one_query_attention(const graph::Graph& graph, std::size_t index);

/// Lowers the three nodes from `first` on, in fp32 arithmetic.
void lower_one_query_attention(Lowering& lowering, std::size_t first);

}  // namespace assay::backend::cpu
