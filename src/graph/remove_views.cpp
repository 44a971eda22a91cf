#include <numeric>
#include <optional>

#include "graph/passes.h"
#include "graph/rewrite.h"

namespace assay::graph {
namespace {

/// Rewrites one node at a time, in execution order, so that whatever a node reads is simple by
/// then.
class ViewRemover {
 public:
  explicit ViewRemover(Graph& graph) : graph_(graph), uses_(graph) {}

  void run() {
    for (Node& node : graph_.nodes) {
      while (merge(node)) {
      }
      if (is_identity(node)) forward(node);
    }
  }

 private:
  [[nodiscard]] const Dims& dims(ValueId id) const { return graph_.value(id).dims; }

  /// The node that computes the node's first input, where it is an operator of type Op.
  template <typename Op>
  [[nodiscard]] const Node* made_by(const Node& node) const {
    const std::size_t index = uses_.producer(node.inputs[0]);
    if (index == Uses::kNobody || !std::holds_alternative<Op>(graph_.nodes[index].op)) {
      return nullptr;
    }
    return &graph_.nodes[index];
  }

  /// Reads past one view, if there is one to read past.
  bool merge(Node& node) const {
    if (std::holds_alternative<Reshape>(node.op)) return merge_reshape(node);
    if (auto* transpose = std::get_if<Transpose>(&node.op)) return merge(node, *transpose);
    if (auto* slice = std::get_if<Slice>(&node.op)) {
      return merge_slice(node, *slice) || pick_part(node, *slice);
    }
    return false;
  }

  bool merge_reshape(Node& node) const {
    const Node* before = made_by<Reshape>(node);
    if (before == nullptr) return false;
    node.inputs[0] = before->inputs[0];
    return true;
  }

  bool merge(Node& node, Transpose& transpose) const {
    const Node* before = made_by<Transpose>(node);
    if (before == nullptr) return false;
    const std::vector<int>& first = std::get<Transpose>(before->op).permutation;
    for (int& axis : transpose.permutation) axis = first[static_cast<std::size_t>(axis)];
    node.inputs[0] = before->inputs[0];
    return true;
  }

  bool merge_slice(Node& node, Slice& slice) const {
    const Node* before = made_by<Slice>(node);
    if (before == nullptr) return false;
    const auto& first = std::get<Slice>(before->op);
    if (first.axis != slice.axis) return false;
    slice.begin += first.begin;
    slice.end += first.begin;
    node.inputs[0] = before->inputs[0];
    return true;
  }

  /// A slice that lies within one part of a Concat reads that part.
  bool pick_part(Node& node, Slice& slice) const {
    const Node* concat = made_by<Concat>(node);
    if (concat == nullptr || std::get<Concat>(concat->op).axis != slice.axis) return false;
    std::int64_t start = 0;
    for (const ValueId part : concat->inputs) {
      const std::int64_t end = start + dims(part)[static_cast<std::size_t>(slice.axis)];
      if (slice.begin >= start && slice.end <= end) {
        slice.begin -= start;
        slice.end -= start;
        node.inputs[0] = part;
        return true;
      }
      start = end;
    }
    return false;
  }

  [[nodiscard]] bool is_identity(const Node& node) const {
    if (const auto* transpose = std::get_if<Transpose>(&node.op)) {
      std::vector<int> in_place(transpose->permutation.size());
      std::iota(in_place.begin(), in_place.end(), 0);
      return transpose->permutation == in_place;
    }
    // A resize to the same size reads each pixel at weight 1; slices keep their dims when whole.
    const bool may_be = std::holds_alternative<Reshape>(node.op) ||
                        std::holds_alternative<Slice>(node.op) ||
                        std::holds_alternative<Resize>(node.op);
    return may_be && dims(node.inputs[0]) == dims(node.output);
  }

  /// Readers of an identity read its input. An output of the graph stays one that a node computes,
  /// and a view of a constant is left to fold_constants.
  void forward(const Node& node) {
    const ValueId source = node.inputs[0];
    if (graph_.value(source).constant) return;
    if (is_output(graph_, node.output) && source == graph_.input) return;
    replace_readers(graph_, node.output, source);
  }

  Graph& graph_;
  Uses uses_;
};

}  // namespace

void remove_views(Graph& graph) {
  ViewRemover(graph).run();
  remove_dead(graph);
}

}  // namespace assay::graph
