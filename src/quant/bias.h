#pragma once
/// Bias correction (Nagel et al., arXiv 1906.04721, section 4.2): rounded weights shift a layer's
/// mean output, and the bias can take that back.
#include <span>
#include <vector>

#include "graph/graph.h"

namespace assay::quant {

/// (W - Wq) · mean(x), one number an output channel. `exact` and `rounded` are weights of `dims`:
/// [N, K], or [O, I, kh, kw], where a channel's mean stands for all places of the kernel (zeros of
/// padding are not looked at). `mean` has K or I numbers.
std::vector<float> bias_shift(std::span<const float> exact, std::span<const float> rounded,
                              const graph::Dims& dims, std::span<const float> mean);

}  // namespace assay::quant
