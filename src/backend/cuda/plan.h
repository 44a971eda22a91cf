#pragma once
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/device.h"
#include "backend/cuda/lowering.h"
#include "backend/cuda/memory.h"

namespace assay::backend::cuda {

/// Everything that sessions of one plan share; never written after lowering.
struct PlanData {
  std::shared_ptr<const graph::Graph> graph;
  LowerOptions options;
  Device device;
  Program program;
  std::vector<StepInfo> infos;
  DeviceBuffer constants;
};

class CudaPlan final : public Plan {
 public:
  explicit CudaPlan(std::shared_ptr<const PlanData> data) : data_(std::move(data)) {}
  [[nodiscard]] std::span<const StepInfo> steps() const override { return data_->infos; }
  [[nodiscard]] std::uint64_t arena_bytes() const override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::unique_ptr<Session> make_session() const override;

  /// For sessions that are asked for more than a Session is.
  [[nodiscard]] const std::shared_ptr<const PlanData>& data() const { return data_; }

 private:
  std::shared_ptr<const PlanData> data_;
};

}  // namespace assay::backend::cuda
