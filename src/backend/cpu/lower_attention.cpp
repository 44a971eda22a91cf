#include "backend/cpu/kernels/attention.h"
#include "backend/cpu/kernels/narrow_attention.h"
#include "backend/cpu/lowering.h"
#include "backend/cpu/product.h"

namespace assay::backend::cpu {
namespace {

/// Attention reads tokens at one stride: a part of a fused projection in place, an image's lines
/// through a copy.
Place tokens_of(Lowering& lowering, const graph::Node& node, std::size_t input) {
  const Place place = lowering.place_of(node.inputs[input]);
  return place.single_line() ? place : lowering.dense_place_of(node.inputs[input], node);
}

}  // namespace

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Attention& op) {
  const Place q = tokens_of(lowering, node, 0);
  const Place k = tokens_of(lowering, node, 1);
  const Place v = tokens_of(lowering, node, 2);
  const Place out = lowering.place_output(node);
  const graph::Dims& queries = lowering.dims(node.inputs[0]);
  const graph::Dims& keys = lowering.dims(node.inputs[1]);
  AttentionArgs args;
  args.queries = queries[queries.size() - 2];
  args.keys = keys[keys.size() - 2];
  args.batch = q.rows / args.queries;
  args.q_stride = q.row_stride;
  args.k_stride = k.row_stride;
  args.v_stride = v.row_stride;
  args.out_stride = out.row_stride;
  args.q_batch_stride = args.queries * q.row_stride;
  args.k_batch_stride = args.keys * k.row_stride;
  args.v_batch_stride = args.keys * v.row_stride;
  args.out_batch_stride = args.queries * out.row_stride;
  args.heads = op.heads;
  args.head_dim = static_cast<int>(q.width / op.heads);
  args.scale = static_cast<float>(op.scale);
  const bool narrow = node.precision == graph::Precision::bf16;
  const auto items = narrow ? narrow_attention_items : attention_items;
  const auto run = narrow ? narrow_attention : attention;
  Step& step = lowering.add_step(node, tactic_of(node, "fused"), {q, k, v, out},
                                 [=](const RunContext& context, const Worker& worker) {
                                   AttentionArgs now = args;
                                   now.q = context.read(q);
                                   now.k = context.read(k);
                                   now.v = context.read(v);
                                   now.out = context.write(out);
                                   const Range mine = share(items(now), worker);
                                   run(now, mine.begin, mine.end, context.scratch);
                                 });
  step.scratch = narrow ? narrow_attention_scratch_floats(args) : attention_scratch_floats(args);
}

}  // namespace assay::backend::cpu
