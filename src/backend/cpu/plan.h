#pragma once
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/lowering.h"

namespace assay::backend::cpu {

/// Everything that sessions of one plan share; never written after lowering.
struct PlanData {
  std::shared_ptr<const graph::Graph> graph;  ///< with emulated products written out
  LowerOptions options;
  int threads = 1;
  Isa isa = Isa::portable;
  std::string emulated;  ///< formats that are, for the description
  Program program;
  std::vector<StepInfo> infos;

  /// Whether calls of max_batch images give each worker images of its own.
  [[nodiscard]] bool spreads_images() const { return threads > 1 && options.max_batch >= threads; }
  /// Floats of the arena for one image.
  [[nodiscard]] std::int64_t image_floats() const { return program.arena_floats; }
};

class CpuPlan final : public Plan {
 public:
  explicit CpuPlan(std::shared_ptr<const PlanData> data) : data_(std::move(data)) {}
  [[nodiscard]] std::span<const StepInfo> steps() const override { return data_->infos; }
  [[nodiscard]] std::uint64_t arena_bytes() const override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::unique_ptr<Session> make_session() const override;

 private:
  std::shared_ptr<const PlanData> data_;
};

}  // namespace assay::backend::cpu
