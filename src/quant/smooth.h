#pragma once
/// SmoothQuant (Xiao et al., arXiv 2211.10438): a linear layer's input has few channels that are
/// large, its weights have none; so part of each channel's scale moves from the one to the other.
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/decide.h"

namespace assay::quant {

/// By layer: what its weights were multiplied by, one factor an input channel.
using Smoothing = std::map<std::string, std::vector<float>, std::less<>>;

/// Where a decision's rule has an alpha: the LayerNorm in front has its weight and bias divided by
/// s = max|x|^alpha / max|w|^(1 - alpha), channel by channel (the paper's equation 4; 1 where a
/// channel holds nothing but 0), and the layer's weight is multiplied by it, so that the network
/// computes what it did. max|w| is over all layers that read the LayerNorm, for they share s.
/// Throws bad_input naming the layer where its input is not a LayerNorm's, and naming the other
/// reader where that is not smoothed with the same alpha.
Smoothing smooth(graph::Graph& graph, const std::vector<Decision>& decisions,
                 const Calibration& calibration);

/// The range of a smoothed input. Only the channels' largest magnitudes are known of it, so it is
/// symmetric (one-sided where `range` was): their largest, times what share of the unsmoothed
/// magnitude `range` kept.
Range smoothed_range(const Range& range, const OperandStats& stats,
                     const std::vector<float>& factors);

}  // namespace assay::quant
