#pragma once
/// The weights of products as the kernels read them.
#include "backend/cuda/constants.h"
#include "backend/cuda/kernels/instruction.h"
#include "graph/graph.h"

namespace assay::backend::cuda {

/// A weight [n][k_padded]: rows of whole kRowBytes with zeros behind k. A convolution's k counts
/// (ky, kx, channel), as images lie.
struct PackedWeight {
  Store operand = Store::f16;
  std::int32_t n = 0;
  std::int32_t k = 0;
  std::int32_t k_padded = 0;
  Kept weight;
  Kept bias;
  Kept scale;                 ///< [n] at e4m3: the first operand's scale × the weight's
  float inverse_a_scale = 1;  ///< at e4m3
};
inline constexpr std::int64_t kRowBytes = 128;

/// How the operands of a product or of attention at `precision` lie in the kernels: nvfp4's numbers
/// fit fp16. There is none for int8.
Store operand_of(graph::Precision precision);

/// Packs weight and bias of `node`, a linear layer or an ungrouped convolution. Throws unsupported
/// for int8, and for a weight that is no constant. `channels_padded`: how many channels the image
/// has in memory, where that is more than the weight knows of: those weigh 0.
PackedWeight pack_weight(const graph::Graph& graph, const graph::Node& node, ConstantPool& pool,
                         std::int64_t channels_padded = 0);

/// [O][rest][taps] as [O][taps][rest], where `taps` are the kernel's: channels last.
std::vector<float> channels_last(std::span<const float> weight, std::int64_t outputs,
                                 std::int64_t taps);

/// The numbers of a node's constant input, as fp32; none where it is left off. `role` names it in
/// the message. Throws unsupported where it is computed.
std::vector<float> constant_input(const graph::Graph& graph, const graph::Node& node,
                                  std::size_t input, std::string_view role);

}  // namespace assay::backend::cuda
