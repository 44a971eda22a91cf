#include "backend/cpu/layout.h"

#include <algorithm>

#include "graph/rewrite.h"

namespace assay::backend::cpu {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::ValueId;

constexpr std::size_t kResidualInput = 3;

class Planner {
 public:
  explicit Planner(const Graph& graph)
      : graph_(graph),
        wishes_(graph.values.size()),
        producer_(graph.values.size(), nullptr),
        readers_(graph.values.size()) {
    for (const Node& node : graph.nodes) {
      producer_[node.output] = &node;
      for (const ValueId input : node.inputs) {
        if (input != kNone) readers_[input].push_back(&node);
      }
    }
  }

  std::vector<Wish> run() {
    // From the last node to the first: a whole's own margin is known before its parts are placed.
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      wish_margin(node->output);
      if (std::holds_alternative<graph::Concat>(node->op)) place_parts(*node);
      if (std::holds_alternative<graph::Reshape>(node->op)) pass_on(*node);
    }
    wish_margin(graph_.input);
    return std::move(wishes_);
  }

 private:
  /// Products write rows at any stride; the other kernels want dense numbers.
  [[nodiscard]] bool writes_strided(const Node* node) const {
    if (node == nullptr) return false;
    if (std::holds_alternative<graph::Linear>(node->op)) return true;
    return std::holds_alternative<graph::Conv2d>(node->op) && !is_depthwise(graph_, *node);
  }

  /// Whether `reader` reads `value` at any stride without a copy.
  [[nodiscard]] bool reads_strided(const Node& reader, ValueId value) const {
    if (std::holds_alternative<graph::Concat>(reader.op)) return true;
    const bool product = writes_strided(&reader);
    return product && (reader.inputs[0] == value || (reader.inputs.size() > kResidualInput &&
                                                     reader.inputs[kResidualInput] == value));
  }

  [[nodiscard]] bool all_read_strided(ValueId value) const {
    return std::ranges::all_of(readers_[value],
                               [&](const Node* reader) { return reads_strided(*reader, value); });
  }

  [[nodiscard]] bool is_output(ValueId value) const {
    return std::ranges::any_of(graph_.outputs,
                               [&](const graph::Output& output) { return output.value == value; });
  }

  void wish_margin(ValueId value) {
    if (graph_.value(value).dims.size() != 3 || is_output(value) || !all_read_strided(value)) {
      return;
    }
    const Node* const producer = producer_[value];
    const bool input = value == graph_.input;
    const bool concat = producer != nullptr &&
                        std::holds_alternative<graph::Concat>(producer->op) &&
                        std::get<graph::Concat>(producer->op).axis == 2;
    if (!input && !concat && !writes_strided(producer)) return;
    auto& margin = wishes_[value].margin;
    for (const Node* reader : readers_[value]) {
      const auto* conv = std::get_if<graph::Conv2d>(&reader->op);
      if (conv == nullptr || reader->inputs[0] != value) continue;
      margin[0] = std::max<std::int64_t>(margin[0], conv->padding[0]);
      margin[1] = std::max<std::int64_t>(margin[1], conv->padding[1]);
    }
  }

  void place_parts(const Node& node) {
    const int axis = std::get<graph::Concat>(node.op).axis;
    const graph::Dims& dims = graph_.value(node.output).dims;
    const bool columns = axis + 1 == static_cast<int>(dims.size());
    const bool leading =
        std::all_of(dims.begin(), dims.begin() + axis, [](std::int64_t d) { return d == 1; });
    if (!columns && !leading) return;
    const std::int64_t rows_each =
        columns ? 0 : graph::elements(dims) / dims[static_cast<std::size_t>(axis)] / dims.back();
    std::int64_t begin = 0;
    for (const ValueId part : node.inputs) {
      const bool once = std::ranges::count(node.inputs, part) == 1;
      if (once && can_be_part(part)) {
        Wish& wish = wishes_[part];
        wish.whole = node.output;
        (columns ? wish.column_begin : wish.row_begin) = columns ? begin : begin * rows_each;
        if (columns) {
          auto& margin = wishes_[node.output].margin;
          for (std::size_t i = 0; i < 2; ++i) margin[i] = std::max(margin[i], margin_of(part)[i]);
        }
      }
      begin += graph_.value(part).dims[static_cast<std::size_t>(axis)];
    }
  }

  [[nodiscard]] bool can_be_part(ValueId part) const {
    const Node* const producer = producer_[part];
    if (producer == nullptr || is_output(part) || wishes_[part].whole != kNone) return false;
    if (std::holds_alternative<graph::Reshape>(producer->op)) return can_pass_on(*producer);
    return writes_strided(producer) && all_read_strided(part);
  }

  /// Whether a reshape keeps the rows, so that its input can be placed as its output wishes.
  [[nodiscard]] bool can_pass_on(const Node& reshape) const {
    const ValueId input = reshape.inputs[0];
    return graph_.value(input).dims.back() == graph_.value(reshape.output).dims.back() &&
           writes_strided(producer_[input]) && readers_[input].size() == 1 && !is_output(input) &&
           all_read_strided(reshape.output);
  }

  void pass_on(const Node& reshape) {
    if (wishes_[reshape.output].whole != kNone)
      wishes_[reshape.inputs[0]] = wishes_[reshape.output];
  }

  /// What the part's own readers want, before it is visited itself.
  std::array<std::int64_t, 2> margin_of(ValueId part) {
    wish_margin(part);
    return wishes_[part].margin;
  }

  const Graph& graph_;
  std::vector<Wish> wishes_;
  std::vector<const Node*> producer_;
  std::vector<std::vector<const Node*>> readers_;
};

}  // namespace

bool is_depthwise(const Graph& graph, const Node& node) {
  const auto* conv = std::get_if<graph::Conv2d>(&node.op);
  if (conv == nullptr || conv->groups == 1) return false;
  const std::int64_t in = graph.value(node.inputs[0]).dims.back();
  const std::int64_t out = graph.value(node.output).dims.back();
  return conv->groups == in && in == out;
}

std::vector<Wish> plan_layout(const Graph& graph) { return Planner(graph).run(); }

bool only_read_by(const graph::Graph& graph, graph::ValueId value, const graph::Node& reader) {
  return graph::Uses(graph).readers(value) == 1 && reader.inputs[0] == value;
}

}  // namespace assay::backend::cpu
