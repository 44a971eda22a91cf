#include "backend/cuda/plan.h"

#include "backend/cuda/cuda.h"
#include "backend/cuda/session.h"
#include "base/error.h"

namespace assay::backend::cuda {

std::uint64_t CudaPlan::arena_bytes() const {
  return static_cast<std::uint64_t>(data_->program.arena_bytes) *
         static_cast<std::uint64_t>(data_->options.max_batch);
}

std::string CudaPlan::description() const {
  return fmt::format("cuda {}, graph, {} kernels, {} phases", data_->device.name,
                     data_->program.steps.size(), data_->program.phases);
}

std::unique_ptr<Session> CudaPlan::make_session() const {
  return std::make_unique<CudaSession>(data_);
}

std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph, int device,
                            const LowerOptions& options) {
  auto data = std::make_shared<PlanData>();
  data->device = open_device(device);
  data->options = options;
  data->program = Lowering(*graph, data->options).finish();
  data->constants = DeviceBuffer(data->program.constants.bytes());
  data->program.constants = {};  // the device has them
  data->graph = std::move(graph);
  for (const Step& step : data->program.steps) data->infos.push_back(step.info);
  return std::make_unique<CudaPlan>(std::move(data));
}

}  // namespace assay::backend::cuda
