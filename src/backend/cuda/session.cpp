#include "backend/cuda/session.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "backend/cuda/kernels/launch.h"
#include "base/error.h"

namespace assay::backend::cuda {
namespace {

constexpr float kWhite = 255.0F;

void check_size(std::string_view what, std::size_t given, std::int64_t each, int batch) {
  const std::size_t expected = static_cast<std::size_t>(each) * static_cast<std::size_t>(batch);
  if (given != 0 && given != expected) {
    fail(ErrorKind::bad_input, "{}: {} numbers were given, a batch of {} needs {}", what, given,
         batch, expected);
  }
}

std::size_t product(std::int64_t a, int b) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
}

/// Products of one kind side by side within their phase, so that one kernel can do them together.
std::tuple<std::int32_t, Op, Source, Store> launch_key(const Instruction& instruction) {
  if (instruction.op != Op::product) return {instruction.phase, instruction.op, {}, {}};
  const Product& p = instruction.product;
  return {instruction.phase, instruction.op, p.source, p.operand};
}

}  // namespace

CudaSession::CudaSession(std::shared_ptr<const PlanData> data) : data_(std::move(data)) {
  use(data_->device);
  const Program& program = data_->program;
  const int batch = data_->options.max_batch;
  stream_ = make_stream();
  arena_ = DeviceBuffer(product(program.arena_bytes, batch));
  rgb_ = DeviceBuffer(product(input_numbers(), batch));
  tensor_ = DeviceBuffer(product(input_numbers(), batch) * sizeof(float));
  staging_ = PinnedBuffer(product(input_numbers(), batch) * sizeof(float));
  addresses_ = {program.blocks, arena_.data(), data_->constants.data(), batch};
  for (const Step& step : program.steps) {
    instructions_.push_back(step.instruction(addresses_));
    instructions_.back().phase = step.phase;
  }
  upload_chains();
  launch_order_ = instructions_;
  std::ranges::stable_sort(launch_order_, {}, launch_key);
  for (const auto& [name, place] : program.outputs) {
    const Block& block = program.blocks[static_cast<std::size_t>(place.block)];
    answers_.emplace(name, Answer{place, PinnedBuffer(product(block.bytes(), batch))});
  }
  // The buffers' zeroing went to the default stream, which this one does not wait for.
  check(cudaDeviceSynchronize(), "preparing a session");
  for (const int size : {1, batch}) {
    if (calls_.contains(size)) continue;
    calls_[size] = capture(stream_, [&] {
      copy_in(true, size);
      launch_steps(call_of(true, size));
      copy_out(size);
    });
  }
}

CudaSession::~CudaSession() = default;

void CudaSession::upload_chains() {
  std::vector<Chain> chains;
  for (const Instruction& instruction : instructions_) {
    if (instruction.op == Op::chain) chains.push_back(instruction.chain);
  }
  if (chains.empty()) return;
  chains_ = DeviceBuffer(std::as_bytes(std::span<const Chain>(chains)));
  const auto* next = reinterpret_cast<const Chain*>(chains_.data());
  for (Instruction& instruction : instructions_) {
    if (instruction.op == Op::chain) instruction.chain_on_device = next++;
  }
}

std::int64_t CudaSession::input_numbers() const {
  return graph::elements(data_->graph->value(data_->graph->input).dims);
}

void CudaSession::check_batch(int batch) const {
  if (batch < 1 || batch > data_->options.max_batch) {
    fail(ErrorKind::bad_input, "a batch of {} images: this plan runs 1 to {}", batch,
         data_->options.max_batch);
  }
}

void CudaSession::check_call(const Input& input, int batch) const {
  check_batch(batch);
  if (input.rgb.empty() == input.tensor.empty()) {
    fail(ErrorKind::bad_input, "a call reads either pixels or a tensor, exactly one of them");
  }
  check_size("input", input.rgb.size() + input.tensor.size(), input_numbers(), batch);
}

Call CudaSession::call_of(bool rgb, int batch) const {
  Call call;
  call.batch = batch;
  if (rgb) {
    call.pixels.rgb = reinterpret_cast<const std::uint8_t*>(rgb_.data());
  } else {
    call.pixels.tensor = reinterpret_cast<const float*>(tensor_.data());
  }
  const Normalization& normalization = data_->options.normalization;
  for (std::size_t c = 0; c < normalization.mean.size(); ++c) {
    call.pixels.multiply[c] = 1.0F / (kWhite * normalization.std[c]);
    call.pixels.add[c] = -normalization.mean[c] / normalization.std[c];
  }
  return call;
}

void CudaSession::stage(const Input& input) {
  const auto bytes = input.rgb.empty() ? std::as_bytes(input.tensor) : std::as_bytes(input.rgb);
  std::memcpy(staging_.data(), bytes.data(), bytes.size());
}

void CudaSession::copy_in(bool rgb, int batch) const {
  const std::size_t numbers = product(input_numbers(), batch);
  check(cudaMemcpyAsync(rgb ? rgb_.data() : tensor_.data(), staging_.data(),
                        rgb ? numbers : numbers * sizeof(float), cudaMemcpyHostToDevice,
                        stream_.get()),
        "copying the input");
}

void CudaSession::copy_out(int batch) const {
  for (const auto& [name, answer] : answers_) {
    const View view = addresses_.view(answer.place);
    const std::int64_t numbers =
        (batch - 1) * view.image_stride + answer.place.rows * answer.place.width;
    check(cudaMemcpyAsync(answer.host.data(), view.data, product(numbers, 1) * sizeof(float),
                          cudaMemcpyDeviceToHost, stream_.get()),
          "copying the results");
  }
}

void CudaSession::launch_step(std::size_t index, const Call& call) const {
  const cudaError_t status = launch({&instructions_[index], 1}, call, false, stream_.get());
  if (status != cudaSuccess) check(status, data_->infos[index].name);
}

void CudaSession::launch_steps(const Call& call) const {
  std::span<const Instruction> rest = launch_order_;
  while (!rest.empty()) {
    const std::size_t count = together(rest, call);
    check(launch(rest.first(count), call, rest.size() < launch_order_.size(), stream_.get()),
          "starting a kernel");
    rest = rest.subspan(count);
  }
}

void CudaSession::synchronize() const {
  check(cudaStreamSynchronize(stream_.get()), "running the network");
}

void CudaSession::collect(std::string_view name, std::span<float> out, int batch) const {
  if (out.empty()) return;
  const Answer& answer = answers_.find(name)->second;
  const View view = addresses_.view(answer.place);
  const auto* const from = reinterpret_cast<const float*>(answer.host.data());
  const std::int64_t each = answer.place.rows * answer.place.width;
  for (std::int64_t image = 0; image < batch; ++image) {
    std::copy_n(from + image * view.image_stride, each, out.data() + image * each);
  }
}

void CudaSession::run(const Input& input, int batch, const Results& results) {
  check_call(input, batch);
  const auto check_output = [&](std::string_view name, std::span<const float> out) {
    if (out.empty()) return;
    check_size(name, out.size(),
               graph::elements(data_->graph->value(data_->graph->output(name)).dims), batch);
  };
  check_output("logits", results.logits);
  check_output("features", results.features);
  use(data_->device);
  stage(input);
  const bool rgb = !input.rgb.empty();
  const auto recorded = calls_.find(batch);
  if (rgb && recorded != calls_.end()) {
    check(cudaGraphLaunch(recorded->second.get(), stream_.get()), "starting the graph");
  } else {
    copy_in(rgb, batch);
    launch_steps(call_of(rgb, batch));
    copy_out(batch);
  }
  synchronize();
  collect("logits", results.logits, batch);
  collect("features", results.features, batch);
}

}  // namespace assay::backend::cuda
