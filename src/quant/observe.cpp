#include "quant/observe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace assay::quant {
namespace {

/// What nothing was seen of yet.
constexpr Range kNothing{std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()};

backend::LowerOptions unfused(int threads) {
  backend::LowerOptions options;
  options.optimization_level = 0;
  options.threads = threads;
  return options;
}

/// Widens `range`; false where a number is not finite.
bool widen(Range& range, std::span<const float> numbers) {
  bool finite = true;
  for (const float number : numbers) {
    finite &= std::abs(number) <= std::numeric_limits<float>::max();
    range.low = std::min(range.low, number);
    range.high = std::max(range.high, number);
  }
  return finite;
}

/// The first product that reads `value`.
std::string_view reader_of(const graph::Graph& graph, std::string_view value) {
  for (const graph::Node& node : graph.nodes) {
    if (is_calibrated(node) && graph.value(node.inputs[0]).name == value) return node.name;
  }
  return value;
}

}  // namespace

bool is_calibrated(const graph::Node& node) {
  return graph::can_have(node.op, graph::Precision::int8);
}

MaxObserver::MaxObserver(std::shared_ptr<const graph::Graph> graph, int threads)
    : graph_(std::move(graph)) {
  for (const graph::Node& node : graph_->nodes) {
    if (node.precision != graph::Precision::fp32) {
      fail(ErrorKind::bad_input, "layer '{}' is {}: only an fp32 network can be calibrated",
           node.name, graph::name(node.precision));
    }
    if (is_calibrated(node)) ranges_.emplace(graph_->value(node.inputs[0]).name, kNothing);
  }
  plan_ = backend::lower(graph_, {"cpu", 0}, unfused(threads));
  session_ = plan_->make_session();
}

void MaxObserver::look_at(const std::string& value, std::span<const float> numbers) {
  const auto found = ranges_.find(value);
  if (found == ranges_.end()) return;
  if (!widen(found->second, numbers) && not_finite_.empty()) not_finite_ = value;
}

void MaxObserver::observe(std::span<const float> image) {
  look_at(graph_->value(graph_->input).name, image);
  session_->trace({{}, image}, 1,
                  [this](const graph::Value& value, int, std::span<const float> numbers) {
                    look_at(value.name, numbers);
                  });
  if (images_ == 0) {
    for (const graph::Value& value : graph_->values) {
      if (value.constant && ranges_.contains(value.name)) {
        look_at(value.name, graph::to_f32(*value.constant));
      }
    }
  }
  if (!not_finite_.empty()) {
    fail(ErrorKind::bad_input, "layer '{}': its input '{}' holds a number that is not finite",
         reader_of(*graph_, not_finite_), not_finite_);
  }
  ++images_;
}

std::vector<LayerRange> MaxObserver::layers() const {
  if (images_ == 0) fail(ErrorKind::bad_input, "no image was run to calibrate with");
  std::vector<LayerRange> layers;
  for (const graph::Node& node : graph_->nodes) {
    if (!is_calibrated(node)) continue;
    const Range& range = ranges_.at(graph_->value(node.inputs[0]).name);
    if (range.low > range.high) {
      fail(ErrorKind::internal, "layer '{}': its input was not seen", node.name);
    }
    layers.push_back({node.name, range});
  }
  return layers;
}

}  // namespace assay::quant
