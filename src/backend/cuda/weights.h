#pragma once
/// The weights of products as the kernels read them.
#include "backend/cuda/constants.h"
#include "backend/cuda/kernels/instruction.h"
#include "graph/graph.h"

namespace assay::backend::cuda {

/// Heads that lie `padded` columns apart where the weight knows `width`; 0: columns as they are.
struct HeadPadding {
  std::int32_t width = 0;
  std::int32_t padded = 0;
};

/// A product's weight on the host: rows of k codes each, in the order that the kernels want.
struct HostWeight {
  Store operand = Store::f16;
  std::int32_t n = 0;
  std::int32_t k = 0;
  std::vector<std::byte> rows;  ///< [n][k] codes
  std::vector<float> bias;      ///< [n], or empty
  std::vector<float> scale;   ///< [n] at e4m3: the first operand's scale × the weight's; or empty
  float inverse_a_scale = 1;  ///< at e4m3
};

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

/// Throws unsupported where the node is int8.
void refuse_int8(const graph::Node& node);

/// Weight and bias of `node`, a linear layer or an ungrouped convolution. Throws unsupported for a
/// weight that is no constant, and for numbers that fp16 can't hold.
HostWeight host_weight(const graph::Graph& graph, const graph::Node& node,
                       std::int64_t channels_padded);

/// Makes room for the zeros behind heads: among the outputs, or along the depth.
HostWeight with_padded_heads(HostWeight weight, HeadPadding n_heads, HeadPadding k_heads);

/// The same, as kernels of single products read it. `channels_padded`: how many channels the image
/// has in memory, where that is more than the weight knows of: those weigh 0.
PackedWeight pack_weight(const graph::Graph& graph, const graph::Node& node, ConstantPool& pool,
                         std::int64_t channels_padded = 0, HeadPadding n_heads = {});

/// [O][rest][taps] as [O][taps][rest], where `taps` are the kernel's: channels last.
std::vector<float> channels_last(std::span<const float> weight, std::int64_t outputs,
                                 std::int64_t taps);

/// Whether a node's input is a constant, or left off.
bool is_constant_or_none(const graph::Graph& graph, const graph::Node& node, std::size_t input);

/// The numbers of a node's constant input, as fp32; none where it is left off. `role` names it in
/// the message. Throws unsupported where it is computed.
std::vector<float> constant_input(const graph::Graph& graph, const graph::Node& node,
                                  std::size_t input, std::string_view role);

}  // namespace assay::backend::cuda
