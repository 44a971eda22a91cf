#include <algorithm>
#include <array>
#include <functional>

#include "backend/cpu/kernels/attention.h"
#include "backend/cpu/kernels/emulated_attention.h"
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

struct Implementation {
  std::string tactic;
  std::int64_t (*items)(const AttentionArgs& args);
  std::int64_t scratch;  ///< floats
  std::function<void(const AttentionArgs& args, std::int64_t begin, std::int64_t end,
                     float* scratch)>
      run;
};

Implementation implementation_of(const graph::Node& node, const AttentionArgs& args) {
  if (node.precision == graph::Precision::fp8) {
    std::array<float, 3> scales{};
    std::ranges::copy(node.input_scales, scales.begin());
    return {"emulated fp8", emulated_attention_items, emulated_attention_scratch_floats(args),
            [scales](const AttentionArgs& now, std::int64_t begin, std::int64_t end,
                     float* scratch) { emulated_attention(now, scales, begin, end, scratch); }};
  }
  if (node.precision == graph::Precision::bf16) {
    return {tactic_of(node, "fused"), narrow_attention_items, narrow_attention_scratch_floats(args),
            narrow_attention};
  }
  return {tactic_of(node, "fused"), attention_items, attention_scratch_floats(args), attention};
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
  const auto [tactic, items, scratch, run] = implementation_of(node, args);
  Step& step = lowering.add_step(
      node, tactic, {q, k, v, out},
      [=, items = items, run = run](const RunContext& context, const Worker& worker) {
        AttentionArgs now = args;
        now.q = context.read(q);
        now.k = context.read(k);
        now.v = context.read(v);
        now.out = context.write(out);
        const Range mine = share(items(now), worker);
        run(now, mine.begin, mine.end, context.scratch);
      });
  step.scratch = scratch;
}

}  // namespace assay::backend::cpu
