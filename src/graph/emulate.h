#pragma once
/// Narrow products as fp32 ones that get the same numbers: for backends without the arithmetic, and
/// for asking what rounding one operand does.
#include <span>
#include <vector>

#include "graph/graph.h"

namespace assay::graph {

/// The numbers that the weight of `node`, a product, stands for at the node's precision: rounded at
/// fp16 and bf16, codes times scales (computed in fp32, block scale × tensor scale first)
/// elsewhere.
std::vector<float> weight_numbers(const Graph& graph, const Node& node);

/// Turns every product at one of `precisions` into an fp32 product of weight_numbers() that reads
/// its input through a FakeQuantize: affine_u8 for int8, e4m3 for fp8, bf16 for bf16. Products that
/// read one value with one scale share it. fp16 is taken as a format for storage: the inputs at
/// fp16 and nvfp4 stay as they are, and fp16 attention becomes fp32. Other attention is left alone,
/// for what it rounds lies within. Takes graphs that verify() accepts, and leaves one; fp32 among
/// `precisions` means nothing.
void emulate(Graph& graph, std::span<const Precision> precisions);

}  // namespace assay::graph
