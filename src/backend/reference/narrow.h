#pragma once
/// Operands in fewer bits, emulated: each number is replaced by the one that its code stands for.
#include <span>
#include <vector>

#include "graph/graph.h"

namespace assay::backend::reference {

/// How many of the node's inputs, counted from the first, are activations that it takes at its own
/// precision: none at fp32, all three of attention, a product's input 0.
std::size_t narrow_inputs(const graph::Node& node);

/// Writes what the node's operands make of `numbers`; both have one size.
void narrow(const graph::Node& node, std::span<const float> numbers, std::span<float> out);

/// A constant as fp32; the codes of an I8 one as they are.
std::vector<float> numbers_of(const graph::Constant& constant);

/// The node's weight rounded to bf16, where it is a product at bf16 whose weight is stored in
/// another type; nothing elsewhere.
std::vector<float> narrow_weight(const graph::Graph& graph, const graph::Node& node);

}  // namespace assay::backend::reference
