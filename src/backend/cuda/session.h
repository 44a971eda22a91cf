#pragma once
#include <map>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/kernels/instruction.h"
#include "backend/cuda/memory.h"
#include "backend/cuda/plan.h"

namespace assay::backend::cuda {

/// Owns an arena of max_batch images, and pinned memory through which pictures and answers go.
/// Calls of pixels of one image, and of as many as there may be, replay a recorded graph, copies
/// and all; others put the same kernels on the stream one by one.
class CudaSession final : public Session {
 public:
  explicit CudaSession(std::shared_ptr<const PlanData> data);
  ~CudaSession() override;

  void run(const Input& input, int batch, const Results& results) override;
  void trace(const Input& input, int batch, const TraceCallback& callback) override;
  void profile(const Input& input, int batch, std::span<double> seconds) override;

  /// Milliseconds that each of `count` runs of `batch` normalized images takes that are on the
  /// device (those of the last call with a tensor, else zeros), results left there, after `warmup`
  /// more: the `device` boundary, from resident input to resident output.
  std::vector<float> time_device(int batch, int warmup, int count);

 private:
  /// One of the graph's outputs: where it lies, and where it is copied to.
  struct Answer {
    Place place;
    PinnedBuffer host;
  };

  void check_batch(int batch) const;
  void check_call(const Input& input, int batch) const;
  [[nodiscard]] std::int64_t input_numbers() const;
  [[nodiscard]] Call call_of(bool rgb, int batch) const;
  void upload_chains();
  void stage(const Input& input);
  void copy_in(bool rgb, int batch) const;
  void copy_out(int batch) const;
  void launch_steps(const Call& call) const;
  void launch_step(std::size_t index, const Call& call) const;
  void synchronize() const;
  void collect(std::string_view name, std::span<float> out, int batch) const;
  [[nodiscard]] std::vector<float> read(const Place& place, int batch) const;

  std::shared_ptr<const PlanData> data_;
  Stream stream_;
  DeviceBuffer chains_;  ///< the instructions of that kind
  DeviceBuffer arena_;
  DeviceBuffer rgb_;     ///< the call's pixels, or the
  DeviceBuffer tensor_;  ///< call's normalized ones
  PinnedBuffer staging_;
  Addresses addresses_;
  std::vector<Instruction> instructions_;
  std::vector<Instruction> launch_order_;  ///< the same as the kernels go
  std::map<std::string, Answer, std::less<>> answers_;
  std::map<int, GraphExec> calls_;  ///< by batch
};

}  // namespace assay::backend::cuda
