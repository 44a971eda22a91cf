#include "backend/cpu/plan.h"

#include "backend/cpu/cpu.h"
#include "backend/cpu/session.h"
#include "base/error.h"
#include "base/thread_pool.h"

namespace assay::backend::cpu {

std::uint64_t CpuPlan::arena_bytes() const {
  const std::int64_t images = data_->spreads_images() ? data_->threads : 1;
  return static_cast<std::uint64_t>(images * data_->image_floats()) * sizeof(float);
}

std::string CpuPlan::description() const {
  return fmt::format("cpu {}, {} thread{}", name(data_->isa), data_->threads,
                     data_->threads == 1 ? "" : "s");
}

std::unique_ptr<Session> CpuPlan::make_session() const {
  return std::make_unique<CpuSession>(data_);
}

std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph,
                            const LowerOptions& options) {
  auto data = std::make_shared<PlanData>();
  data->isa = active_isa();
  data->options = options;
  data->threads = options.threads > 0 ? options.threads : available_cores();
  data->program = Lowering(*graph, data->options).finish();
  data->graph = std::move(graph);
  for (const Step& step : data->program.steps) data->infos.push_back(step.info);
  return std::make_unique<CpuPlan>(std::move(data));
}

}  // namespace assay::backend::cpu
