#include <algorithm>
#include <optional>

#include "base/error.h"
#include "graph/passes.h"
#include "graph/rewrite.h"

namespace assay::graph {
namespace {

/// A tensor while it is folded.
struct Numbers {
  Dims dims;
  std::vector<float> data;
};

/// Elements between two neighbours along each axis.
Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
  return strides;
}

/// Evaluates one operator on constants; nothing for the operators that are not folded.
class Evaluator {
 public:
  Evaluator(std::vector<Numbers> inputs, Dims dims)
      : in_(std::move(inputs)), dims_(std::move(dims)) {}

  std::optional<std::vector<float>> operator()(const Reshape&) const { return in_[0].data; }

  std::optional<std::vector<float>> operator()(const Transpose& op) const {
    const Dims from = strides_of(in_[0].dims);
    const Dims to = strides_of(dims_);
    return each([&](std::int64_t index) {
      std::int64_t source = 0;
      for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
        const auto permuted = static_cast<std::size_t>(op.permutation[axis]);
        source += index / to[axis] % dims_[axis] * from[permuted];
      }
      return in_[0].data[static_cast<std::size_t>(source)];
    });
  }

  std::optional<std::vector<float>> operator()(const Slice& op) const {
    const auto axis = static_cast<std::size_t>(op.axis);
    const std::int64_t inner = strides_of(dims_)[axis];
    return each([&](std::int64_t index) {
      const std::int64_t outer = index / (inner * dims_[axis]);
      const std::int64_t rest = index % (inner * dims_[axis]);
      const std::int64_t source = outer * inner * in_[0].dims[axis] + op.begin * inner + rest;
      return in_[0].data[static_cast<std::size_t>(source)];
    });
  }

  std::optional<std::vector<float>> operator()(const Concat& op) const {
    const auto axis = static_cast<std::size_t>(op.axis);
    const std::int64_t inner = strides_of(dims_)[axis];
    std::int64_t outer = 1;
    for (std::size_t i = 0; i < axis; ++i) outer *= dims_[i];
    std::vector<float> out;
    for (std::int64_t row = 0; row < outer; ++row) {
      for (const Numbers& part : in_) {
        const std::int64_t length = part.dims[axis] * inner;
        out.insert(out.end(), part.data.begin() + row * length,
                   part.data.begin() + (row + 1) * length);
      }
    }
    return out;
  }

  std::optional<std::vector<float>> operator()(const Add&) const {
    return each([&](std::int64_t i) { return at(0, i) + at(1, i); });
  }

  std::optional<std::vector<float>> operator()(const Mul&) const {
    return each([&](std::int64_t i) { return at(0, i) * at(1, i); });
  }

  template <typename Op>
  std::optional<std::vector<float>> operator()(const Op&) const {
    return std::nullopt;
  }

 private:
  template <typename Function>
  std::vector<float> each(const Function& function) const {
    std::vector<float> out(static_cast<std::size_t>(elements(dims_)));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = function(static_cast<std::int64_t>(i));
    return out;
  }

  /// Suffix broadcasting: the shorter input repeats.
  [[nodiscard]] float at(std::size_t input, std::int64_t index) const {
    return in_[input].data[static_cast<std::size_t>(index) % in_[input].data.size()];
  }

  std::vector<Numbers> in_;
  Dims dims_;
};

bool all_constant(const Graph& graph, const Node& node) {
  return std::ranges::all_of(
      node.inputs, [&](ValueId id) { return id == kNone || graph.value(id).constant.has_value(); });
}

bool is_residual(const Graph& graph, ValueId id) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const bool may_have_one =
        std::holds_alternative<Conv2d>(node.op) || std::holds_alternative<Linear>(node.op);
    return may_have_one && input_or_none(node, kResidualInput) == id;
  });
}

/// Gives the node's output its numbers. Weights of any type are widened to fp32 by it.
bool fold(Graph& graph, const Node& node) {
  if (node.precision != Precision::fp32) return false;  // a product, which is not folded
  if (!all_constant(graph, node) || is_output(graph, node.output)) return false;
  if (is_residual(graph, node.output)) return false;  // a residual stays an activation
  std::vector<Numbers> inputs;
  for (const ValueId id : node.inputs) {
    if (id == kNone) return false;
    inputs.push_back({graph.value(id).dims, to_f32(*graph.value(id).constant)});
  }
  Value& output = graph.values[node.output];
  auto numbers = std::visit(Evaluator(std::move(inputs), output.dims), node.op);
  if (!numbers) return false;
  output.constant = make_constant(std::move(*numbers));
  return true;
}

}  // namespace

void fold_constants(Graph& graph) {
  std::vector<bool> folded(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) folded[i] = fold(graph, graph.nodes[i]);
  erase_nodes(graph, folded);
  remove_dead(graph);
}

}  // namespace assay::graph
