/// What a session does step by step, and how it times itself.
#include <algorithm>

#include "backend/cuda/session.h"
#include "base/error.h"
#include "numerics/bf16.h"
#include "numerics/fp16.h"

namespace assay::backend::cuda {
namespace {

/// The numbers of type `store` at `bytes`, `count` of them.
std::vector<float> decoded(Store store, const std::byte* bytes, std::size_t count) {
  std::vector<float> numbers(count);
  if (store == Store::f32) {
    std::copy_n(reinterpret_cast<const float*>(bytes), count, numbers.begin());
    return numbers;
  }
  const auto* const codes = reinterpret_cast<const std::uint16_t*>(bytes);
  std::transform(codes, codes + count, numbers.begin(), [store](std::uint16_t code) {
    return store == Store::f16 ? numerics::Fp16::decode(code) : numerics::Bf16::decode(code);
  });
  return numbers;
}

/// In which row the value's row `row` lies.
std::int64_t row_at(const Place& place, std::int64_t row) {
  if (!place.unfolded()) return row;
  const std::int64_t patches = place.rows / (place.patch * place.patch);
  const std::int64_t across = place.map_width / place.patch;
  const std::int64_t y = row / patches / place.patch;
  const std::int64_t x = row / patches % place.patch;
  const std::int64_t patch = row % patches;
  return (patch / across * place.patch + y) * place.map_width + patch % across * place.patch + x;
}

}  // namespace

/// The numbers of a value of all images, in the value's own order.
std::vector<float> CudaSession::read(const Place& place, int batch) const {
  const View view = addresses_.view(place);
  const std::int64_t each = (place.rows - 1) * place.row_stride + place.width;
  const std::int64_t all = (batch - 1) * view.image_stride + each;
  std::vector<std::byte> bytes(static_cast<std::size_t>(all * bytes_of(view.store)));
  check(cudaMemcpy(bytes.data(), view.data, bytes.size(), cudaMemcpyDeviceToHost),
        "copying a value");
  const std::vector<float> numbers =
      decoded(view.store, bytes.data(), static_cast<std::size_t>(all));
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(batch * place.rows * place.width));
  for (std::int64_t image = 0; image < batch; ++image) {
    for (std::int64_t row = 0; row < place.rows; ++row) {
      const auto from =
          numbers.begin() + image * view.image_stride + row_at(place, row) * place.row_stride;
      out.insert(out.end(), from, from + place.width);
    }
  }
  return out;
}

void CudaSession::trace(const Input& input, int batch, const TraceCallback& callback) {
  check_call(input, batch);
  use(data_->device);
  stage(input);
  copy_in(!input.rgb.empty(), batch);
  const Call call = call_of(!input.rgb.empty(), batch);
  const std::vector<Step>& steps = data_->program.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    launch_step(i, call);
    synchronize();
    for (const graph::ValueId value : steps[i].materialized) {
      callback(data_->graph->value(value), batch, read(data_->program.places[value], batch));
    }
  }
}

void CudaSession::profile(const Input& input, int batch, std::span<double> seconds) {
  check_call(input, batch);
  const std::size_t count = instructions_.size();
  if (seconds.size() != count) {
    fail(ErrorKind::bad_input, "profile: {} entries were given for {} steps", seconds.size(),
         count);
  }
  use(data_->device);
  stage(input);
  copy_in(!input.rgb.empty(), batch);
  const Call call = call_of(!input.rgb.empty(), batch);
  std::vector<Event> events;
  for (std::size_t i = 0; i <= count; ++i) events.push_back(make_event());
  const auto record = [&](std::size_t i) {
    check(cudaEventRecord(events[i].get(), stream_.get()), "taking the time");
  };
  record(0);
  for (std::size_t i = 0; i < count; ++i) {
    launch_step(i, call);
    record(i + 1);
  }
  synchronize();
  constexpr double kMilli = 1e-3;
  for (std::size_t i = 0; i < count; ++i) {
    seconds[i] += kMilli * static_cast<double>(milliseconds(events[i], events[i + 1]));
  }
}

std::vector<float> CudaSession::time_device(int batch, int warmup, int count) {
  check_batch(batch);
  use(data_->device);
  const GraphExec recorded = capture(stream_, [&] { launch_steps(call_of(false, batch)); });
  // Calls wait in line behind each other, so that no time is the host's.
  std::vector<Event> marks;
  for (int i = 0; i <= count; ++i) marks.push_back(make_event());
  for (int i = 0; i < warmup; ++i) {
    check(cudaGraphLaunch(recorded.get(), stream_.get()), "starting the graph");
  }
  check(cudaEventRecord(marks[0].get(), stream_.get()), "taking the time");
  for (int i = 1; i <= count; ++i) {
    check(cudaGraphLaunch(recorded.get(), stream_.get()), "starting the graph");
    check(cudaEventRecord(marks[static_cast<std::size_t>(i)].get(), stream_.get()),
          "taking the time");
  }
  synchronize();
  std::vector<float> times;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    times.push_back(milliseconds(marks[i - 1], marks[i]));
  }
  return times;
}

}  // namespace assay::backend::cuda
