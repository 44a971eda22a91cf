#include "backend/reference/session.h"

#include <algorithm>
#include <chrono>

#include "backend/reference/narrow.h"
#include "base/error.h"

namespace assay::backend::reference {
namespace {

std::size_t most_inputs(const graph::Graph& graph) {
  std::size_t most = 0;
  for (const graph::Node& node : graph.nodes) most = std::max(most, node.inputs.size());
  return most;
}

}  // namespace

Session::Session(std::shared_ptr<const Program> program)
    : program_(std::move(program)),
      graph_(*program_->graph),
      arena_(std::make_unique_for_overwrite<float[]>(
          program_->memory.size * static_cast<std::size_t>(program_->max_batch))),
      inputs_(most_inputs(graph_)) {
  scratch_.reserve(program_->scratch);
  for (std::size_t i = 0; i < narrow_.size(); ++i) narrow_[i].resize(program_->narrow_floats[i]);
}

std::size_t Session::size_of(graph::ValueId id) const {
  return static_cast<std::size_t>(graph::elements(graph_.value(id).dims));
}

// A value's images lie one behind the other: its place for one image, times the largest batch.
std::size_t Session::place(graph::ValueId id, int image) const {
  const auto most = static_cast<std::size_t>(program_->max_batch);
  return program_->memory.offset[id] * most + static_cast<std::size_t>(image) * size_of(id);
}

std::span<float> Session::activation(graph::ValueId id, int image) {
  return {arena_.get() + place(id, image), size_of(id)};
}

std::span<const float> Session::numbers(graph::ValueId id, int image) const {
  if (graph_.value(id).constant) return program_->constants[id];
  return {arena_.get() + place(id, image), size_of(id)};
}

void Session::load(const Input& input, int batch) {
  if (batch < 1 || batch > program_->max_batch) {
    fail(ErrorKind::bad_input, "a batch of {} is outside 1 to {}", batch, program_->max_batch);
  }
  const std::size_t size = size_of(graph_.input) * static_cast<std::size_t>(batch);
  if (input.rgb.empty() == input.tensor.empty()) {
    fail(ErrorKind::bad_input, "a call needs either pixels or a tensor");
  }
  const std::size_t given = std::max(input.rgb.size(), input.tensor.size());
  if (given != size) {
    fail(ErrorKind::bad_input, "a batch of {} images of {} has {} numbers, {} are given", batch,
         graph::to_string(graph_.value(graph_.input).dims), size, given);
  }
  const std::span<float> target{activation(graph_.input, 0).data(), size};
  if (!input.tensor.empty()) {
    std::ranges::copy(input.tensor, target.begin());
    return;
  }
  const Normalization& normalization = program_->normalization;
  for (std::size_t i = 0; i < size; ++i) {
    const float scaled = static_cast<float>(input.rgb[i]) / 255.0F;
    target[i] = (scaled - normalization.mean[i % 3]) / normalization.std[i % 3];
  }
}

void Session::gather_inputs(std::size_t node_index, int image) {
  const graph::Node& node = graph_.nodes[node_index];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::ValueId id = node.inputs[i];
    inputs_[i] = id == graph::kNone ? Tensor{} : Tensor{numbers(id, image), graph_.value(id).dims};
  }
  for (std::size_t i = 0; i < narrow_inputs(node); ++i) {
    const std::span<float> narrowed = std::span(narrow_[i]).first(inputs_[i].numbers.size());
    narrow(node, i, inputs_[i].numbers, narrowed);
    inputs_[i].numbers = narrowed;
  }
  const std::vector<float>& weight = program_->weights[node_index];
  if (weight.empty()) return;
  inputs_[graph::kWeightInput].numbers = weight;
}

void Session::compute(std::size_t node_index, int batch) {
  const graph::Node& node = graph_.nodes[node_index];
  for (int image = 0; image < batch; ++image) {
    gather_inputs(node_index, image);
    const Call call{std::span(inputs_).first(node.inputs.size()), graph_.value(node.output).dims,
                    activation(node.output, image), scratch_, node.precision};
    std::visit([&](const auto& op) { reference::run(op, call); }, node.op);
  }
}

void Session::store(std::string_view output, std::span<float> result, int batch) const {
  if (result.empty()) return;
  const graph::ValueId id = graph_.output(output);
  const std::size_t size = size_of(id) * static_cast<std::size_t>(batch);
  if (result.size() != size) {
    fail(ErrorKind::bad_input, "{} of a batch of {} are {} numbers, there is room for {}", output,
         batch, size, result.size());
  }
  std::copy_n(numbers(id, 0).data(), size, result.begin());
}

void Session::run(const Input& input, int batch, const Results& results) {
  load(input, batch);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) compute(i, batch);
  store("logits", results.logits, batch);
  store("features", results.features, batch);
}

void Session::trace(const Input& input, int batch, const TraceCallback& callback) {
  load(input, batch);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    compute(i, batch);
    const graph::ValueId output = graph_.nodes[i].output;
    callback(graph_.value(output), batch,
             {numbers(output, 0).data(), size_of(output) * static_cast<std::size_t>(batch)});
  }
}

void Session::profile(const Input& input, int batch, std::span<double> seconds) {
  if (seconds.size() != graph_.nodes.size()) {
    fail(ErrorKind::bad_input, "{} steps are timed, there is room for {}", graph_.nodes.size(),
         seconds.size());
  }
  load(input, batch);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto start = std::chrono::steady_clock::now();
    compute(i, batch);
    seconds[i] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

}  // namespace assay::backend::reference
