#include <algorithm>
#include <optional>

#include "graph/passes.h"
#include "graph/rewrite.h"

namespace assay::graph {
namespace {

Activation* activation_of(Node& node) {
  if (auto* conv = std::get_if<Conv2d>(&node.op)) return &conv->activation;
  if (auto* linear = std::get_if<Linear>(&node.op)) return &linear->activation;
  return nullptr;
}

class Fuser {
 public:
  explicit Fuser(Graph& graph) : graph_(graph), uses_(graph), gone_(graph.nodes.size(), false) {}

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (std::holds_alternative<Activate>(graph_.nodes[i].op)) take_activation(i);
      if (std::holds_alternative<Add>(graph_.nodes[i].op)) take_residual(i);
    }
    erase_nodes(graph_, gone_);
  }

 private:
  /// The node that computes `id`, if it is a Conv2d or Linear without a residual that nothing but
  /// one node reads.
  std::optional<std::size_t> producer_of(ValueId id) {
    const std::size_t index = uses_.producer(id);
    if (index == Uses::kNobody || uses_.readers(id) != 1 || is_output(graph_, id)) return {};
    Node& node = graph_.nodes[index];
    if (activation_of(node) == nullptr || input_or_none(node, kResidualInput) != kNone) return {};
    return index;
  }

  /// `producer` moves to the place of the elementwise node, where all that it may read is known.
  void replace(std::size_t elementwise, std::size_t producer) {
    const ValueId output = graph_.nodes[elementwise].output;
    graph_.nodes[elementwise] = std::move(graph_.nodes[producer]);
    graph_.nodes[elementwise].output = output;
    gone_[producer] = true;
  }

  void take_activation(std::size_t index) {
    const auto producer = producer_of(graph_.nodes[index].inputs[0]);
    if (!producer) return;
    Activation* activation = activation_of(graph_.nodes[*producer]);
    if (*activation != Activation::none) return;
    *activation = std::get<Activate>(graph_.nodes[index].op).activation;
    replace(index, *producer);
  }

  void take_residual(std::size_t index) {
    const ValueId a = graph_.nodes[index].inputs[0];
    const ValueId b = graph_.nodes[index].inputs[1];
    if (graph_.value(a).dims != graph_.value(b).dims) return;
    for (const auto& [made, residual] : {std::pair{b, a}, std::pair{a, b}}) {
      if (graph_.value(residual).constant) continue;
      const auto producer = producer_of(made);
      if (!producer) continue;
      std::vector<ValueId>& inputs = graph_.nodes[*producer].inputs;
      if (inputs.size() <= kResidualInput) inputs.resize(kResidualInput + 1, kNone);
      inputs[kResidualInput] = residual;
      replace(index, *producer);
      return;
    }
  }

  Graph& graph_;
  Uses uses_;
  std::vector<bool> gone_;
};

}  // namespace

void fuse_elementwise(Graph& graph) {
  Fuser(graph).run();
  remove_dead(graph);
}

}  // namespace assay::graph
