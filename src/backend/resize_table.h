#pragma once
/// Resizing an image as two tables of weights, which all backends but the reference share.
#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace assay::backend {

/// Where each output position of one axis reads and with what weights: `taps` indices, clamped to
/// the input, and as many weights for each output.
struct ResizeTable {
  int taps = 2;
  std::vector<std::int32_t> index;  ///< [outputs][taps]
  std::vector<float> weight;        ///< [outputs][taps]
};

/// The table of torch.nn.functional.interpolate with align_corners = False, no antialias and the
/// scale in / out, computed in fp32 as torch does (with one fused multiply-add for the position):
/// bilinear with 2 taps, bicubic with 4 (Keys 1981, a = -0.75). Sizes are at least 1.
ResizeTable make_resize_table(graph::ResizeMode mode, std::int64_t in, std::int64_t out);

}  // namespace assay::backend
