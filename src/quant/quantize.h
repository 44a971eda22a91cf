#pragma once
/// From an fp32 graph to one whose products take narrow operands.
#include "graph/graph.h"
#include "quant/calibration.h"
#include "quant/scales.h"

namespace assay::quant {

/// The graph at `precision`:
/// - bf16: linear layers, ungrouped convolutions and attention, their weights stored as BF16; but
///   layers that read the picture stay fp32. They are a few percent of the work, and without their
///   rounding the mean logit error fell by half (MobileViT-XS), a third (S), two fifths
///   (CrossViT-9) and hardly at all (XXS) on 500 images. At int8 they are int8: a pixel has 256
///   values.
/// - int8: linear layers and ungrouped convolutions, their weights stored as I8 with a scale an
///   output channel (its largest magnitude / 127; 1 for a channel of zeros), their inputs coded by
///   affine_for() of their calibrated range. Attention is bf16.
/// Everything else (grouped and depthwise convolutions, normalizations, biases) stays fp32.
///
/// `calibration` is for int8 and needed there. Throws bad_input where it is absent or one too many,
/// was made of another graph, lacks a layer or names one that the graph does not have; for a graph
/// that is not fp32; and unsupported, naming the layer, for sums longer than int8 allows.
graph::Graph quantize(const graph::Graph& graph, graph::Precision precision,
                      const Calibration* calibration);

}  // namespace assay::quant
