#include "backend/reference/plan.h"

#include <new>

#include "backend/flops.h"
#include "backend/reference/session.h"
#include "base/error.h"

namespace assay::backend::reference {
namespace {

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    for (const graph::Node& node : program_->graph->nodes) {
      steps_.push_back({node.name, std::string(graph::operator_name(node.op)), "reference",
                        program_->graph->value(node.output).dims,
                        count_flops(*program_->graph, node),
                        constant_bytes(*program_->graph, node)});
    }
  }

  [[nodiscard]] std::span<const StepInfo> steps() const override { return steps_; }
  [[nodiscard]] std::uint64_t arena_bytes() const override {
    return program_->memory.size * sizeof(float) * static_cast<std::uint64_t>(program_->max_batch);
  }
  [[nodiscard]] std::string description() const override { return "reference, 1 thread"; }
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
    program->constants.push_back(value.constant ? graph::to_f32(*value.constant)
                                                : std::vector<float>());
  }
  for (const graph::Node& node : graph->nodes) {
    program->scratch = std::max(program->scratch, scratch_size(*graph, node));
  }
  program->graph = std::move(graph);
  program->max_batch = options.max_batch;
  program->normalization = options.normalization;
  return std::make_unique<ReferencePlan>(std::move(program));
}

}  // namespace assay::backend::reference
