#include "backend/cpu/plan.h"

#include <algorithm>
#include <array>

#include "backend/cpu/cpu.h"
#include "backend/cpu/session.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "graph/emulate.h"

namespace assay::backend::cpu {

std::uint64_t CpuPlan::arena_bytes() const {
  const std::int64_t images = data_->spreads_images() ? data_->threads : 1;
  return static_cast<std::uint64_t>(images * data_->image_floats()) * sizeof(float);
}

std::string CpuPlan::description() const {
  return fmt::format("cpu {}, {} thread{}{}", name(data_->isa), data_->threads,
                     data_->threads == 1 ? "" : "s", data_->emulated);
}

std::unique_ptr<Session> CpuPlan::make_session() const {
  return std::make_unique<CpuSession>(data_);
}

namespace {

/// What this backend has no arithmetic for.
constexpr std::array kEmulated{graph::Precision::fp16, graph::Precision::fp8,
                               graph::Precision::nvfp4};

/// ", fp8 emulated", ", fp16 stored": which formats of the graph are so.
std::string emulated_formats(const graph::Graph& graph) {
  std::string formats;
  for (const graph::Precision precision : kEmulated) {
    if (std::ranges::find(graph.nodes, precision, &graph::Node::precision) == graph.nodes.end()) {
      continue;
    }
    const bool stored = precision == graph::Precision::fp16;
    formats += fmt::format(", {} {}", graph::name(precision), stored ? "stored" : "emulated");
  }
  return formats;
}

/// The graph with what needs emulation written out.
std::shared_ptr<const graph::Graph> emulated(std::shared_ptr<const graph::Graph> graph) {
  auto wide = std::make_shared<graph::Graph>(*graph);
  graph::emulate(*wide, kEmulated);
  return wide;
}

}  // namespace

std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph,
                            const LowerOptions& options) {
  auto data = std::make_shared<PlanData>();
  data->isa = active_isa();
  data->options = options;
  data->threads = options.threads > 0 ? options.threads : available_cores();
  data->emulated = emulated_formats(*graph);
  if (!data->emulated.empty()) graph = emulated(std::move(graph));
  data->program = Lowering(*graph, data->options).finish();
  data->graph = std::move(graph);
  for (const Step& step : data->program.steps) data->infos.push_back(step.info);
  return std::make_unique<CpuPlan>(std::move(data));
}

}  // namespace assay::backend::cpu
