#include "backend/cuda/layout.h"

#include <algorithm>
#include <limits>
#include <set>

namespace assay::backend::cuda {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::ValueId;

/// Rows [begin, end) of a value.
struct Rows {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
constexpr Rows kAllRows{0, std::numeric_limits<std::int64_t>::max()};
constexpr std::size_t kEver = std::numeric_limits<std::size_t>::max();

bool is_view(const Node& node) {
  return std::holds_alternative<graph::Slice>(node.op) ||
         std::holds_alternative<graph::Reshape>(node.op) ||
         std::holds_alternative<graph::Transpose>(node.op);
}

class Planner {
 public:
  Planner(const Graph& graph, const Consumers& consumers)
      : graph_(graph), consumers_(consumers), wishes_(graph.values.size()) {}

  std::vector<Wish> run() {
    // From the last node to the first: a whole's own place is known before its parts are placed.
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      if (std::holds_alternative<graph::Reshape>(node->op)) pass_on(*node);
      const auto* concat = std::get_if<graph::Concat>(&node->op);
      if (concat == nullptr) continue;
      Wish& wish = wishes_[node->output];
      wish.apart = can_stay_apart(*node, *concat);
      if (wish.apart) continue;
      if (wish.whole == kNone) wish.over = overwritten(*node, *concat);
      if (wish.over != kNone) written_over_.insert({node->output, wish.over});
      place_parts(*node, *concat);
    }
    return std::move(wishes_);
  }

 private:
  [[nodiscard]] const graph::Dims& dims(ValueId value) const { return graph_.value(value).dims; }

  /// Whether all that reads `value` are products, row by row, maybe behind a LayerNorm and slices:
  /// they take a first row from elsewhere.
  [[nodiscard]] bool read_by_products(ValueId value) const {
    if (consumers_.is_output(value)) return false;
    return std::ranges::all_of(consumers_.readers(value), [&](std::size_t index) {
      const Node& reader = graph_.nodes[index];
      if (std::holds_alternative<graph::Linear>(reader.op)) {
        return reader.inputs[0] == value && std::ranges::count(reader.inputs, value) == 1;
      }
      if (std::holds_alternative<graph::LayerNorm>(reader.op)) {
        return reader.inputs[0] == value && read_by_products(reader.output);
      }
      const auto* slice = std::get_if<graph::Slice>(&reader.op);
      return slice != nullptr && slice->axis == 0 && read_by_products(reader.output);
    });
  }

  [[nodiscard]] bool can_stay_apart(const Node& node, const graph::Concat& op) const {
    return node.inputs.size() == 2 && dims(node.output).size() == 2 && op.axis == 0 &&
           dims(node.inputs[0])[0] == 1 && read_by_products(node.output);
  }

  /// The last node that may read some of `rows` of `value`, itself or through what may be computed
  /// late: views, and what products fold in.
  [[nodiscard]] std::size_t last_reader(ValueId value, Rows rows) const {
    if (consumers_.is_output(value)) return kEver;
    std::size_t last = 0;
    for (const std::size_t index : consumers_.readers(value)) {
      const Node& reader = graph_.nodes[index];
      Rows seen = kAllRows;
      if (const auto* slice = std::get_if<graph::Slice>(&reader.op);
          slice != nullptr && slice->axis == 0 && dims(value).size() == 2) {
        seen = {std::max(rows.begin, slice->begin) - slice->begin,
                std::min(rows.end, slice->end) - slice->begin};
        if (seen.begin >= seen.end) continue;
      }
      last = std::max(last, index);
      if (may_wait(reader)) last = std::max(last, last_reader(reader.output, seen));
    }
    return last;
  }

  /// Whether what the node reads may be read later than in its turn: a view, or what a product
  /// folds in.
  [[nodiscard]] bool may_wait(const Node& node) const {
    return is_view(node) || std::holds_alternative<graph::LayerNorm>(node.op) ||
           std::holds_alternative<graph::Activate>(node.op) ||
           std::holds_alternative<graph::Concat>(node.op) || is_depthwise(graph_, node);
  }

  /// The value that a concatenation of rows can be written over, or kNone: one part is a slice of
  /// it that stays where it is, the others are computed when their rows have been read for the last
  /// time.
  [[nodiscard]] ValueId overwritten(const Node& node, const graph::Concat& op) const {
    if (op.axis != 0 || dims(node.output).size() != 2 || consumers_.is_output(node.output) ||
        written_over_.contains(node.output)) {
      return kNone;
    }
    ValueId base = kNone;
    std::vector<std::pair<ValueId, Rows>> computed;
    std::int64_t begin = 0;
    for (const ValueId part : node.inputs) {
      const Rows rows{begin, begin + dims(part)[0]};
      begin = rows.end;
      const Node* const made = consumers_.producer(part);
      const auto* slice = made == nullptr ? nullptr : std::get_if<graph::Slice>(&made->op);
      if (base == kNone && slice != nullptr && slice->axis == 0 && slice->begin == rows.begin) {
        base = made->inputs[0];
      } else if (can_be_part(part)) {
        computed.emplace_back(part, rows);
      } else {
        return kNone;
      }
    }
    if (base == kNone || dims(base) != dims(node.output) || written_over_.contains(base) ||
        !writes_rows(consumers_.producer(base))) {
      return kNone;
    }
    const bool free = std::ranges::all_of(
        computed, [&](const auto& part) { return is_free(base, part.second, part.first); });
    return free ? base : kNone;
  }

  /// Whether `base` is there, and nothing reads `rows` of it any more, when `part` is computed.
  [[nodiscard]] bool is_free(ValueId base, Rows rows, ValueId part) const {
    const auto index_of = [&](ValueId value) {
      return static_cast<std::size_t>(consumers_.producer(value) - graph_.nodes.data());
    };
    return index_of(base) < index_of(part) && last_reader(base, rows) < index_of(part);
  }

  /// Whether the node is a step that writes rows at any stride.
  [[nodiscard]] static bool writes_rows(const Node* node) {
    return node != nullptr && !is_view(*node) && !std::holds_alternative<graph::Mean>(node->op);
  }

  [[nodiscard]] bool can_be_part(ValueId part) const {
    const Node* const producer = consumers_.producer(part);
    if (producer == nullptr || consumers_.is_output(part) || wishes_[part].whole != kNone) {
      return false;
    }
    if (std::holds_alternative<graph::Reshape>(producer->op)) {
      return keeps_rows(graph_, *producer) && can_be_part(producer->inputs[0]);
    }
    return writes_rows(producer);
  }

  void place_parts(const Node& node, const graph::Concat& op) {
    const graph::Dims& whole = dims(node.output);
    const bool columns = op.axis + 1 == static_cast<int>(whole.size());
    if (!columns && !is_leading(whole, op.axis)) return;
    const auto axis = static_cast<std::size_t>(op.axis);
    const std::int64_t rows_each =
        columns ? 0 : graph::elements(whole) / whole[axis] / whole.back();
    std::int64_t begin = 0;
    for (const ValueId part : node.inputs) {
      if (std::ranges::count(node.inputs, part) == 1 && can_be_part(part)) {
        Wish& wish = wishes_[part];
        wish.whole = node.output;
        (columns ? wish.column_begin : wish.row_begin) = columns ? begin : begin * rows_each;
      }
      begin += dims(part)[axis];
    }
  }

  void pass_on(const Node& reshape) {
    const Wish& wish = wishes_[reshape.output];
    if (wish.whole != kNone && can_be_part(reshape.inputs[0])) {
      wishes_[reshape.inputs[0]] = wish;
    }
  }

  const Graph& graph_;
  const Consumers& consumers_;
  std::vector<Wish> wishes_;
  std::set<ValueId> written_over_;  ///< and what is written over them
};

}  // namespace

std::vector<Wish> plan_layout(const Graph& graph, const Consumers& consumers) {
  return Planner(graph, consumers).run();
}

}  // namespace assay::backend::cuda
