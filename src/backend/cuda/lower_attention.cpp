#include "backend/cuda/kernels/attention_shape.h"
#include "backend/cuda/lowering.h"
#include "backend/cuda/weights.h"
#include "base/error.h"

namespace assay::backend::cuda {

/// Queries, keys and values are read where a fused projection left them; tokens of an unfolded map
/// where its pixels lie.
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Attention& op) {
  std::array<Place, 3> in;
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = lowering.place_of(node.inputs[i]);
  if (!same_order(in[0], in[1]) || !same_order(in[0], in[2])) {
    for (Place& place : in) place = lowering.ordered(place, node);
  }
  const Place out = lowering.place_output(node, in[0]);
  const graph::Dims& queries = lowering.dims(node.inputs[0]);
  const graph::Dims& keys = lowering.dims(node.inputs[1]);
  Attention attention;
  attention.heads = op.heads;
  attention.head_size = static_cast<std::int32_t>(in[0].width / op.heads);
  attention.q_head_stride = attention.head_size;
  attention.k_head_stride = attention.head_size;
  attention.v_head_stride = attention.head_size;
  attention.out_head_stride = attention.head_size;
  attention.queries = static_cast<std::int32_t>(queries[queries.size() - 2]);
  attention.keys = static_cast<std::int32_t>(keys[keys.size() - 2]);
  attention.sequences = static_cast<std::int32_t>(in[0].rows / attention.queries);
  attention.map_width = static_cast<std::int32_t>(in[0].map_width);
  attention.patch = static_cast<std::int32_t>(in[0].patch);
  attention.scale = static_cast<float>(op.scale);
  attention.operand = operand_of(node.precision);
  if (node.precision == graph::Precision::fp8) {
    attention.q_scale = node.input_scales[0];
    attention.k_scale = node.input_scales[1];
    attention.v_scale = node.input_scales[2];
  }
  if (attention_is_simple(attention) && attention.keys > kMostSimpleKeys) {
    fail(ErrorKind::unsupported,
         "{}: attends to {} keys, at {} with heads of {}; the cuda backend's kernel does up to {}: "
         "use cpu, or another recipe",
         node.name, attention.keys, graph::name(node.precision), attention.head_size,
         kMostSimpleKeys);
  }
  Step& added = lowering.add_step(node, fmt::format("attention {}", name(attention.operand)),
                                  {in[0], in[1], in[2]}, {out}, {});
  added.attention = {attention, in[0], in[1], in[2], out};
}

}  // namespace assay::backend::cuda
