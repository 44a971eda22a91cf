#include "backend/cuda/lower_ends.h"

#include "backend/cuda/weights.h"
#include "backend/flops.h"
#include "graph/emulate.h"
#include "graph/rewrite.h"
#include "numerics/fp16.h"

namespace assay::backend::cuda {
namespace {

using graph::kBiasInput;
using graph::kResidualInput;
using graph::kWeightInput;

constexpr std::int64_t kOctet = 8;
/// Beyond this depth tensor cores are worth what they need: rows of whole octets.
constexpr std::int64_t kDeepestStem = 75;
/// Of a block's shared memory, without asking for more.
constexpr std::int64_t kMostPooled = 4096;

bool has_weights(const graph::Graph& graph, const graph::Node& node) {
  return node.precision == graph::Precision::fp16 &&
         is_constant_or_none(graph, node, kWeightInput) &&
         is_constant_or_none(graph, node, kBiasInput) &&
         graph::input_or_none(node, kResidualInput) == graph::kNone;
}

/// [n][k] as [k][n], rounded to f16.
std::vector<float> turned(std::span<const float> weight, std::size_t n) {
  const std::size_t k = weight.size() / n;
  std::vector<float> out(weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    out[i % k * n + i / k] = numerics::Fp16::decode(numerics::Fp16::encode(weight[i]));
  }
  return out;
}

}  // namespace

const graph::Node* stem_of(const graph::Graph& graph, const Consumers& consumers) {
  const std::vector<std::size_t>& readers = consumers.readers(graph.input);
  if (readers.size() != 1 || consumers.is_output(graph.input)) return nullptr;
  const graph::Node& node = graph.nodes[readers[0]];
  const auto* const conv = std::get_if<graph::Conv2d>(&node.op);
  if (conv == nullptr || conv->groups != 1 || node.inputs[0] != graph.input ||
      !has_weights(graph, node) || consumers.is_output(node.output)) {
    return nullptr;
  }
  const graph::Dims& weight = graph.value(node.inputs[kWeightInput]).dims;
  const bool small = weight[0] % kOctet == 0 && weight[1] * weight[2] * weight[3] <= kDeepestStem;
  return small ? &node : nullptr;
}

void lower_stem(Lowering& lowering, const graph::Node& conv) {
  const graph::Dims& weight = lowering.dims(conv.inputs[kWeightInput]);
  const Place out = lowering.place_output(conv);
  Stem stem;
  stem.window = window_of(lowering, conv);
  stem.rows = static_cast<std::int32_t>(out.rows);
  stem.n = static_cast<std::int32_t>(weight[0]);
  stem.act = act_of(std::get<graph::Conv2d>(conv.op).activation);
  const std::vector<float> numbers =
      turned(channels_last(graph::weight_numbers(lowering.graph(), conv), weight[0],
                           weight[2] * weight[3]),
             static_cast<std::size_t>(weight[0]));
  const Kept kept = lowering.constants().keep(std::span<const float>(numbers));
  const Kept bias = lowering.keep(conv, kBiasInput, "bias");
  lowering.add_step(conv, "normalize, stem f16", {}, {out}, [=](const Addresses& at) {
    Stem now = stem;
    now.weight = at.kept(kept);
    now.bias = at.kept(bias);
    now.out = at.view(out);
    return Instruction(now);
  });
}

bool lower_pooled(Lowering& lowering, const graph::Node& mean, const graph::Node& linear) {
  const graph::Graph& graph = lowering.graph();
  const auto* const op = std::get_if<graph::Mean>(&mean.op);
  const auto* const layer = std::get_if<graph::Linear>(&linear.op);
  if (op == nullptr || layer == nullptr || linear.inputs[0] != mean.output ||
      layer->activation != graph::Activation::none || !has_weights(graph, linear)) {
    return false;
  }
  const graph::Dims& in = lowering.dims(mean.inputs[0]);
  const std::int64_t k = in.back();
  const bool all_but_last = op->axes.size() + 1 == in.size() && op->axes.front() == 0 &&
                            op->axes.back() + 2 == static_cast<int>(in.size());
  if (!all_but_last || k % kOctet != 0 || k > kMostPooled) return false;
  const Place from = lowering.ordered_place_of(mean.inputs[0], mean);
  if (lowering.store_at(from) != Store::f16 || from.row_stride % kOctet != 0 ||
      from.offset % kOctet != 0) {
    return false;
  }
  const Place averages = lowering.place_output(mean);
  const Place out = lowering.place_output(linear);
  const PackedWeight weight = pack_weight(graph, linear, lowering.constants());
  Pooled pooled;
  pooled.rows = static_cast<std::int32_t>(from.rows);
  pooled.k = static_cast<std::int32_t>(k);
  pooled.n = weight.n;
  pooled.k_padded = weight.k_padded;
  Step& step = lowering.add_step(linear, "mean, linear f16", {from}, {averages, out},
                                 [=](const Addresses& at) {
                                   Pooled now = pooled;
                                   now.in = at.view(from);
                                   now.mean = at.view(averages);
                                   now.weight = at.kept<std::byte>(weight.weight);
                                   now.bias = at.kept(weight.bias);
                                   now.out = at.view(out);
                                   return Instruction(now);
                                 });
  step.info.flops += count_flops(graph, mean);
  return true;
}

}  // namespace assay::backend::cuda
