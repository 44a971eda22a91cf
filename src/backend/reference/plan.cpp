#include "backend/reference/plan.h"

#include <algorithm>
#include <new>

#include "backend/flops.h"
#include "backend/reference/narrow.h"
#include "backend/reference/session.h"
#include "base/error.h"
#include "graph/emulate.h"

namespace assay::backend::reference {
namespace {

std::string tactic_of(const graph::Node& node) {
  if (node.precision == graph::Precision::fp32) return "reference";
  return fmt::format("emulated {}", graph::name(node.precision));
}

/// "reference, 1 thread", and which formats are emulated.
std::string describe(const graph::Graph& graph) {
  std::string emulated;
  for (const auto precision : graph::kPrecisions) {
    if (precision == graph::Precision::fp32 ||
        std::ranges::find(graph.nodes, precision, &graph::Node::precision) == graph.nodes.end()) {
      continue;
    }
    emulated += fmt::format(", {}", graph::name(precision));
  }
  return fmt::format("reference, 1 thread{}{}", emulated, emulated.empty() ? "" : " emulated");
}

/// Reserves room for the node's operands at its own precision.
void count_narrow(const graph::Graph& graph, const graph::Node& node, Program& program) {
  for (std::size_t i = 0; i < narrow_inputs(node); ++i) {
    const auto size = static_cast<std::size_t>(graph::elements(graph.value(node.inputs[i]).dims));
    program.narrow_floats[i] = std::max(program.narrow_floats[i], size);
  }
}

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    for (const graph::Node& node : program_->graph->nodes) {
      steps_.push_back({node.name, std::string(graph::operator_name(node.op)), tactic_of(node),
                        program_->graph->value(node.output).dims,
                        count_flops(*program_->graph, node),
                        constant_bytes(*program_->graph, node)});
    }
  }

  [[nodiscard]] std::span<const StepInfo> steps() const override { return steps_; }
  [[nodiscard]] std::uint64_t arena_bytes() const override {
    return program_->memory.size * sizeof(float) * static_cast<std::uint64_t>(program_->max_batch);
  }
  [[nodiscard]] std::string description() const override { return describe(*program_->graph); }
  [[nodiscard]] std::unique_ptr<backend::Session> make_session() const override {
    try {
      return std::make_unique<Session>(program_);
    } catch (const std::bad_alloc&) {
      fail(ErrorKind::out_of_memory, "{}: a session needs {} bytes", program_->graph->name,
           arena_bytes());
    }
  }

 private:
  std::shared_ptr<const Program> program_;
  std::vector<StepInfo> steps_;
};

}  // namespace

std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph,
                            const LowerOptions& options) {
  auto program = std::make_shared<Program>();
  program->memory = lay_out(*graph);
  for (const graph::Value& value : graph->values) {
    program->constants.push_back(value.constant ? numbers_of(*value.constant)
                                                : std::vector<float>());
  }
  for (const graph::Node& node : graph->nodes) {
    program->scratch = std::max(program->scratch, scratch_size(*graph, node));
    program->weights.push_back(has_narrow_weight(node) ? graph::weight_numbers(*graph, node)
                                                       : std::vector<float>());
    count_narrow(*graph, node, *program);
  }
  program->graph = std::move(graph);
  program->max_batch = options.max_batch;
  program->normalization = options.normalization;
  return std::make_unique<ReferencePlan>(std::move(program));
}

}  // namespace assay::backend::reference
