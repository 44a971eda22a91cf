#pragma once
/// Operands in fewer bits, emulated: each number is replaced by the one that its code stands for.
#include <span>
#include <vector>

#include "backend/reference/operators.h"
#include "graph/graph.h"

namespace assay::backend::reference {

/// How many of the node's inputs, counted from the first, are activations that it takes at its own
/// precision: none at fp32, all three of attention, a product's input 0.
std::size_t narrow_inputs(const graph::Node& node);

/// Writes what the node makes of `numbers`, its input `input`; both have one size.
void narrow(const graph::Node& node, std::size_t input, std::span<const float> numbers,
            std::span<float> out);

/// A constant as fp32; nothing for codes, which has_narrow_weight() nodes alone read.
std::vector<float> numbers_of(const graph::Constant& constant);

/// Whether the node is a product that takes graph::weight_numbers() instead of what is stored.
bool has_narrow_weight(const graph::Node& node);

}  // namespace assay::backend::reference
