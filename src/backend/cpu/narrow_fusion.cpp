#include "backend/cpu/narrow_fusion.h"

#include <algorithm>
#include <memory>

#include "backend/cpu/layout.h"
#include "backend/cpu/product.h"
#include "backend/flops.h"

namespace assay::backend::cpu {
namespace {

using graph::Graph;
using graph::Node;

bool is_narrow_linear(const Node& node) {
  return std::holds_alternative<graph::Linear>(node.op) && node.precision != graph::Precision::fp32;
}

/// Whether nodes index and index + 1 exist, and the latter alone reads the former, first.
bool feeds_next(const Graph& graph, std::size_t index) {
  return index + 1 < graph.nodes.size() &&
         only_read_by(graph, graph.nodes[index].output, graph.nodes[index + 1]);
}

bool is_mlp(const Graph& graph, std::size_t index) {
  return index + 1 < graph.nodes.size() && is_narrow_linear(graph.nodes[index]) &&
         !has_residual(graph.nodes[index]) && feeds_next(graph, index) &&
         is_narrow_linear(graph.nodes[index + 1]);
}

RowNorm row_norm(Lowering& lowering, const Node& norm) {
  return {keep(lowering, lowering.weight(norm, 1, "weight")),
          keep(lowering, lowering.weight(norm, 2, "bias")),
          static_cast<float>(std::get<graph::LayerNorm>(norm.op).epsilon)};
}

/// Two products with the hidden rows between them in a worker's cache.
struct Mlp {
  Weights first;
  graph::Activation hidden_activation = graph::Activation::none;
  Product second;  ///< its A is the first one's

  [[nodiscard]] std::int64_t rows() const { return second.args.lines * second.args.rows; }
  [[nodiscard]] std::int64_t in_flight() const {
    return rows_in_flight(first.narrow->row_bytes() + second.weights.narrow->row_bytes(), rows());
  }
  [[nodiscard]] std::int64_t packed() const {
    return packed_floats(in_flight(), first.narrow->row_bytes());
  }
  [[nodiscard]] std::int64_t scratch() const {
    return packed() + packed_floats(in_flight(), second.weights.narrow->row_bytes());
  }

  void run(const RunContext& context, const Worker& worker) const {
    const NarrowMatrix& widen = *first.narrow;
    const NarrowMatrix& narrow = *second.weights.narrow;
    const GemmArgs args = second.resolved(context);
    NarrowSource source = narrow_source(args);
    source.norm = second.norm;
    auto* const a = reinterpret_cast<std::byte*>(context.scratch);
    NarrowTarget hidden;
    hidden.packed = reinterpret_cast<std::byte*>(context.scratch + packed());
    hidden.next = &narrow;
    hidden.activation = hidden_activation;
    const NarrowTarget out = narrow_target(args);
    const std::int64_t step = in_flight();
    const Range mine = share(rows(), worker);
    for (std::int64_t row = mine.begin; row < mine.end; row += step) {
      const std::int64_t end = std::min(row + step, mine.end);
      pack_rows(widen, source, row, end, a);
      multiply_rows(widen, a, row, end, 0, panel_count(widen), hidden);
      multiply_rows(narrow, hidden.packed, row, end, 0, panel_count(narrow), out);
    }
  }
};

void lower_mlp(Lowering& lowering, const Node* norm, const Node& fc1, const Node& fc2) {
  auto mlp = std::make_shared<Mlp>();
  const Place x = lowering.place_of(norm != nullptr ? norm->inputs[0] : fc1.inputs[0]);
  mlp->first =
      pack_weights(lowering, fc1, channel_range(0, lowering.dims(fc1.inputs[kWeightInput])[0]));
  mlp->hidden_activation = std::get<graph::Linear>(fc1.op).activation;
  mlp->second = linear_product(lowering, fc2, x);
  mlp->second.args.segment_length = x.width;
  if (norm != nullptr) mlp->second.norm = row_norm(lowering, *norm);
  Step& step = lowering.add_step(
      fc2, tactic_of(fc2, norm != nullptr ? "layer norm + mlp" : "mlp"), places_of(mlp->second),
      [mlp](const RunContext& context, const Worker& worker) { mlp->run(context, worker); });
  step.scratch = mlp->scratch();
  step.info.flops += count_flops(lowering.graph(), fc1);
  step.info.weight_bytes += constant_bytes(lowering.graph(), fc1);
}

void lower_normed_linear(Lowering& lowering, const Node& norm, const Node& linear) {
  Product product = linear_product(lowering, linear, lowering.place_of(norm.inputs[0]));
  product.norm = row_norm(lowering, norm);
  Step& step = lowering.add_step(
      linear, tactic_of(linear, "layer norm + gemm"), places_of(product),
      [product](const RunContext& context, Worker worker) { product.run(context, worker); });
  step.scratch = product.scratch();
}

}  // namespace

std::size_t narrow_group(const Graph& graph, std::size_t index) {
  const bool normed = std::holds_alternative<graph::LayerNorm>(graph.nodes[index].op) &&
                      feeds_next(graph, index) && is_narrow_linear(graph.nodes[index + 1]);
  const std::size_t product = normed ? index + 1 : index;
  if (is_mlp(graph, product)) return product - index + 2;
  return normed ? 2 : 1;
}

bool is_mlp_group(const Graph& graph, std::size_t index, std::size_t count) {
  return count >= 2 && is_narrow_linear(graph.nodes[index + count - 2]);
}

void lower_narrow_group(Lowering& lowering, std::size_t first, std::size_t count) {
  const std::vector<Node>& nodes = lowering.graph().nodes;
  if (!is_mlp_group(lowering.graph(), first, count)) {
    lower_normed_linear(lowering, nodes[first], nodes[first + 1]);
    return;
  }
  const Node* const norm = count == 3 ? &nodes[first] : nullptr;
  lower_mlp(lowering, norm, nodes[first + count - 2], nodes[first + count - 1]);
}

}  // namespace assay::backend::cpu
