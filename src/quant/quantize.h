#pragma once
/// From an fp32 graph to one whose products take narrow operands, as a recipe says.
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/calibration.h"
#include "quant/recipe.h"
#include "quant/scales.h"

namespace assay::quant {

/// Whether a recipe decides on the node: a product or attention.
bool is_layer(const graph::Node& node);

/// What became of one product or attention, and why.
struct LayerDecision {
  std::string layer;
  graph::Role role = graph::Role::none;
  graph::Precision precision = graph::Precision::fp32;
  std::string reason;        ///< "rule 1", "base: no rule takes it", "outliers: ..."
  double multiply_adds = 0;  ///< an image
};

struct Quantized {
  graph::Graph graph;
  std::vector<LayerDecision> layers;  ///< every product and attention, in execution order
  /// What smoothing multiplied a layer's weights by, one factor an input channel; their inputs were
  /// divided by it.
  std::map<std::string, std::vector<float>, std::less<>> smoothing;
};

/// The graph with each layer at the precision that the recipe gives it:
/// - fp16, bf16: weights stored as F16 and BF16.
/// - int8: weights I8, a scale an output channel; inputs coded by affine_for() of their range.
/// - fp8: weights F8_E4M3, a scale a tensor or an output channel; inputs, and attention's three
///   operands, by e4m3_scale_for() of their ranges.
/// - nvfp4: weights F4 in blocks (numerics/nvfp4.h).
/// Biases, normalizations, and grouped convolutions stay fp32. `calibration` is that of `wide`;
/// null where needs_calibration() is false. Thread-safe; the same arguments give the same graph.
///
/// Throws bad_input for a graph that is not fp32 throughout; where the calibration is needed and
/// absent, was made of another graph, lacks an operand or observer, or speaks of layers that the
/// graph does not have; for a rule that matches no layer, smoothing of a layer that is not behind a
/// LayerNorm of its own, and weights that a format can't hold; unsupported for sums longer than
/// int8 allows. All name the layer.
Quantized quantize(const graph::Graph& wide, const Recipe& recipe, const Calibration* calibration);

enum class Operands : std::uint8_t { weights, activations };

/// The graph in which of what `quantized` rounds only those operands are rounded, for asking which
/// of them an error comes from. Products are fp32, with a FakeQuantize before them or rounded
/// weights; corrected biases go with the weights. Attention has no weights: it is fp32 for weights,
/// and stays as it is for activations. fp16 inputs are not rounded (graph::emulate). `wide` is what
/// was quantized.
graph::Graph isolate(const graph::Graph& wide, const Quantized& quantized, Operands which);

}  // namespace assay::quant
