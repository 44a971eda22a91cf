#pragma once
/// The fields of every operator, named once: the JSON writer and reader both walk this list, so
/// that they cannot drift apart. `visit(name, field)` is called in the order of the text.
#include "graph/graph.h"

namespace assay::graph {

// Op is the operator, const where it is written.
template <typename Visit, typename Op>
void visit_fields(Visit& visit, Op& op) {
  using Bare = std::remove_const_t<Op>;
  if constexpr (std::is_same_v<Bare, Conv2d>) {
    visit("stride", op.stride);
    visit("padding", op.padding);
    visit("dilation", op.dilation);
    visit("groups", op.groups);
    visit("activation", op.activation);
  } else if constexpr (std::is_same_v<Bare, Linear> || std::is_same_v<Bare, Activate>) {
    visit("activation", op.activation);
  } else if constexpr (std::is_same_v<Bare, LayerNorm> || std::is_same_v<Bare, BatchNorm>) {
    visit("epsilon", op.epsilon);
  } else if constexpr (std::is_same_v<Bare, Attention>) {
    visit("heads", op.heads);
    visit("scale", op.scale);
  } else if constexpr (std::is_same_v<Bare, Concat>) {
    visit("axis", op.axis);
  } else if constexpr (std::is_same_v<Bare, Slice>) {
    visit("axis", op.axis);
    visit("begin", op.begin);
    visit("end", op.end);
  } else if constexpr (std::is_same_v<Bare, Reshape>) {
    visit("dims", op.dims);
  } else if constexpr (std::is_same_v<Bare, Transpose>) {
    visit("permutation", op.permutation);
  } else if constexpr (std::is_same_v<Bare, Resize>) {
    visit("mode", op.mode);
    visit("height", op.height);
    visit("width", op.width);
  } else if constexpr (std::is_same_v<Bare, Mean>) {
    visit("axes", op.axes);
  } else if constexpr (std::is_same_v<Bare, FakeQuantize>) {
    visit("format", op.format);
    visit("scale", op.scale);
    visit("zero_point", op.zero_point);
  } else {
    static_assert(
        std::is_same_v<Bare, Softmax> || std::is_same_v<Bare, Add> || std::is_same_v<Bare, Mul>,
        "every operator lists its fields here");
  }
}

/// The words for the enumerations, in the order of their values.
inline constexpr std::array<std::string_view, 3> kActivationNames{"none", "gelu", "silu"};
inline constexpr std::array<std::string_view, 2> kResizeModeNames{"bilinear", "bicubic"};
inline constexpr std::array<std::string_view, 4> kNumberFormatNames{"fp16", "bf16", "e4m3",
                                                                    "affine_u8"};

}  // namespace assay::graph
