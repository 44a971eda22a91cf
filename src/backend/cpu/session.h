#pragma once
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/aligned_buffer.h"
#include "backend/cpu/barrier.h"
#include "backend/cpu/plan.h"
#include "base/thread_pool.h"

namespace assay::backend::cpu {

/// Runs images one by one with all threads on each, or, where there are as many images as threads,
/// each thread on images of its own: then nobody waits and every core's cache holds one image.
class CpuSession final : public Session {
 public:
  explicit CpuSession(std::shared_ptr<const PlanData> data);

  void run(const Input& input, int batch, const Results& results) override;
  void trace(const Input& input, int batch, const TraceCallback& callback) override;
  void profile(const Input& input, int batch, std::span<double> seconds) override;

 private:
  void check(const Input& input, int batch) const;
  [[nodiscard]] RunContext context_of(const Input& input, std::int64_t image, float* arena,
                                      int worker) const;
  void run_together(const Input& input, Range images, const Results& results);
  void run_apart(const Input& input, int batch, const Results& results);
  void collect(const RunContext& context, std::int64_t image, const Results& results) const;

  std::shared_ptr<const PlanData> data_;
  mutable AlignedBuffer arena_;
  mutable AlignedBuffer scratch_;
  ThreadPool pool_;
  Barrier barrier_;
};

}  // namespace assay::backend::cpu
