#include "backend/cpu/one_query_attention.h"

#include <algorithm>
#include <array>
#include <memory>

#include "backend/cpu/kernels/attention.h"
#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/lowering.h"
#include "backend/cpu/product.h"
#include "backend/flops.h"
#include "graph/rewrite.h"

namespace assay::backend::cpu {
namespace {

using graph::Graph;
using graph::Node;

/// A projection with nothing around it.
bool is_projection(const Node& node) {
  const auto* linear = std::get_if<graph::Linear>(&node.op);
  return linear != nullptr && linear->activation == graph::Activation::none &&
         !has_residual(node) && node.precision != graph::Precision::int8;
}

/// One head's weights: the query's way to the tokens' channels, and back from them.
struct HeadWeights {
  PackedMatrix fold;   ///< W_kᵀ: [head size, K]
  PackedMatrix value;  ///< W_v: [K, head size], with b_v
};

struct OneQuery {
  std::vector<HeadWeights> heads;
  std::int64_t tokens = 0;
  std::int64_t channels = 0;  ///< of a token: K
  std::int64_t head_dim = 0;
  float scale = 1;
  Place x, q, out;

  /// One head's attention on the tokens themselves: a single query of K numbers.
  [[nodiscard]] AttentionArgs attention_args() const {
    AttentionArgs args;
    args.k_stride = args.v_stride = x.row_stride;
    args.queries = 1;
    args.keys = tokens;
    args.head_dim = static_cast<int>(channels);
    args.scale = scale;
    return args;
  }
  [[nodiscard]] std::int64_t row_floats() const {
    return static_cast<std::int64_t>(round_up_to_line(static_cast<std::size_t>(channels)));
  }
  [[nodiscard]] std::int64_t scratch() const {
    return 2 * row_floats() + attention_scratch_floats(attention_args());
  }

  static void multiply_row(const PackedMatrix& b, const float* row, float* out) {
    constexpr std::array<std::int64_t, 1> kOneSegment{0};
    GemmArgs args;
    args.rows = 1;
    args.a = row;
    args.a_row = b.k;
    args.segment_offsets = kOneSegment;
    args.segment_length = b.k;
    args.c = out;
    args.c_row = b.n;
    gemm(b, args, {0, 1, 0, static_cast<std::int64_t>(b.panels.size())});
  }

  /// Each head by itself, so that its numbers are the same whoever computes it.
  void run(const RunContext& context, const Range& share) const {
    float* const query = context.scratch;
    float* const sum = query + row_floats();
    AttentionArgs args = attention_args();
    args.q = query;
    args.k = args.v = context.read(x);
    args.out = sum;
    for (std::int64_t head = share.begin; head < share.end; ++head) {
      const HeadWeights& weights = heads[static_cast<std::size_t>(head)];
      multiply_row(weights.fold, context.read(q) + head * head_dim, query);
      attention(args, 0, attention_items(args), sum + row_floats());
      multiply_row(weights.value, sum, context.write(out) + head * head_dim);
    }
  }
};

std::vector<float> transposed(std::span<const float> matrix, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> result(matrix.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      result[static_cast<std::size_t>(column * rows + row)] =
          matrix[static_cast<std::size_t>(row * columns + column)];
    }
  }
  return result;
}

std::vector<HeadWeights> pack_heads(Lowering& lowering, const Node& key, const Node& value,
                                    std::int64_t heads, std::int64_t head_dim) {
  const std::vector<float> key_weight = lowering.weight(key, kWeightInput, "weight");
  const std::vector<float> value_weight = lowering.weight(value, kWeightInput, "weight");
  const std::vector<float> value_bias = lowering.optional_weight(value, kBiasInput, "bias");
  const std::int64_t channels = lowering.dims(key.inputs[kWeightInput])[1];
  const auto rows = static_cast<std::size_t>(head_dim);
  const auto part = rows * static_cast<std::size_t>(channels);
  std::vector<HeadWeights> packed;
  for (std::size_t head = 0; head < static_cast<std::size_t>(heads); ++head) {
    const std::span<const float> bias = value_bias.empty()
                                            ? std::span<const float>()
                                            : std::span(value_bias).subspan(head * rows, rows);
    const std::vector<float> fold =
        transposed(std::span(key_weight).subspan(head * part, part), head_dim, channels);
    packed.push_back({pack_matrix(fold, {}, channels, head_dim, lowering.constants()),
                      pack_matrix(std::span(value_weight).subspan(head * part, part), bias,
                                  head_dim, channels, lowering.constants())});
  }
  return packed;
}

}  // namespace

bool is_one_query_attention(const Graph& graph, std::size_t index) {
  if (index + 2 >= graph.nodes.size()) return false;
  const Node& key = graph.nodes[index];
  const Node& value = graph.nodes[index + 1];
  const Node& node = graph.nodes[index + 2];
  if (!std::holds_alternative<graph::Attention>(node.op)) return false;
  if (node.precision == graph::Precision::fp8) return false;
  const graph::Dims& query = graph.value(node.inputs[0]).dims;
  const graph::Uses uses(graph);
  return graph::elements(query) == query.back() && is_projection(key) && is_projection(value) &&
         key.inputs[0] == value.inputs[0] && node.inputs[1] == key.output &&
         node.inputs[2] == value.output && uses.readers(key.output) == 1 &&
         uses.readers(value.output) == 1;
}

void lower_one_query_attention(Lowering& lowering, std::size_t first) {
  const Graph& graph = lowering.graph();
  const Node& key = graph.nodes[first];
  const Node& node = graph.nodes[first + 2];
  const auto& op = std::get<graph::Attention>(node.op);
  auto made = std::make_shared<OneQuery>();
  made->x = lowering.place_of(key.inputs[0]);
  if (!made->x.single_line()) made->x = lowering.dense_place_of(key.inputs[0], node);
  made->q = lowering.place_of(node.inputs[0]);
  made->out = lowering.place_output(node);
  made->tokens = made->x.rows;
  made->channels = made->x.width;
  made->head_dim = made->q.width / op.heads;
  made->scale = static_cast<float>(op.scale);
  made->heads = pack_heads(lowering, key, graph.nodes[first + 1], op.heads, made->head_dim);
  const std::int64_t heads = op.heads;
  Step& step = lowering.add_step(node, "one query", {made->x, made->q, made->out},
                                 [made, heads](const RunContext& context, const Worker& worker) {
                                   made->run(context, share(heads, worker));
                                 });
  for (std::size_t i = first; i < first + 2; ++i) {
    step.info.flops += count_flops(graph, graph.nodes[i]);
    step.info.weight_bytes += constant_bytes(graph, graph.nodes[i]);
  }
  step.scratch = made->scratch();
}

}  // namespace assay::backend::cpu
