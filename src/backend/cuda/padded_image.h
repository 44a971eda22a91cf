#pragma once
/// The picture with channels of zeros behind its three, so that what convolutions read of it is 16
/// bytes at an aligned address.
#include <cstdint>

#include "backend/cuda/consumers.h"
#include "backend/cuda/kernels/instruction.h"
#include "graph/graph.h"

namespace assay::backend::cuda {

/// How many numbers a pixel of the image `value` gets: its own channels where something but
/// convolutions, and resizing for convolutions, reads it.
std::int64_t padded_channels(const graph::Graph& graph, const Consumers& consumers,
                             graph::ValueId value);

/// Whether a convolution's kernels lie side by side, as a patch embedding's do.
bool is_patchwise(const graph::Graph& graph, const graph::Node& node);

/// The window of a patch embedding seen as one of kernels one pixel wide, each pixel `width` old
/// ones side by side.
Window merged_across(Window window);

}  // namespace assay::backend::cuda
