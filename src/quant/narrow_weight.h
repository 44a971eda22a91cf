#pragma once
/// Weights as the narrow formats store them.
#include <optional>
#include <span>
#include <string_view>

#include "graph/graph.h"
#include "quant/recipe.h"

namespace assay::quant {

/// A weight's codes and scales; names are the caller's to give.
struct NarrowWeight {
  graph::Constant codes;
  std::optional<graph::Value> scale;         ///< at int8, fp8 and nvfp4 (there: a block's)
  std::optional<graph::Value> tensor_scale;  ///< at nvfp4
};

/// `numbers` are the weight's, output channels outermost, of `dims`.
/// - fp16, bf16: the nearest numbers. Throws bad_input naming the layer where one becomes infinite.
/// - int8: the nearest codes, -127 to 127; the scale is the channel's largest magnitude / 127.
/// - fp8: the nearest E4M3 codes; the scale is the tensor's or channel's largest magnitude / 448.
/// - nvfp4: numerics::Nvfp4's, block by block along K.
/// Numbers that are all 0, or as good as, get scale 1. WeightObserver::mse tries other scales
/// around these and takes the one of the smallest sum of squared errors: at int8 1/64 less each
/// down to 3/8 of it, at fp8 the sixteenth part of an octave each to one octave either way, at
/// nvfp4 the four codes either way of each block's scale. Throws unsupported, naming the layer, for
/// sums longer than int8 allows.
NarrowWeight narrow_weight(std::span<const float> numbers, const graph::Dims& dims,
                           graph::Precision precision, const WeightRule& rule,
                           std::string_view layer);

}  // namespace assay::quant
