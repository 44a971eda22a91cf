#include "quant/observe.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "quant/range_search.h"

namespace assay::quant {
namespace {

constexpr std::string_view kPercentile = "percentile_";
constexpr std::array<std::string_view, 3> kAttentionOperands{"query", "key", "value"};

backend::LowerOptions unfused() {
  backend::LowerOptions options;
  options.optimization_level = 0;
  options.threads = 1;
  return options;
}

bool needs_histogram(std::string_view observer) {
  return observer != "max" && observer != "moving_average";
}

/// 0.999 of "percentile_99.9".
double share_of(std::string_view observer) {
  const std::string_view digits = observer.substr(kPercentile.size());
  double percent = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  return percent / 100;
}

bool all_within_reach(Range range) {
  return range.low >= -kLargestMagnitude && range.high <= kLargestMagnitude;
}

void check(const graph::Graph& graph, std::span<const std::string> observers) {
  for (const graph::Node& node : graph.nodes) {
    if (node.precision != graph::Precision::fp32) {
      fail(ErrorKind::bad_input, "layer '{}' is {}: only an fp32 network can be calibrated",
           node.name, graph::name(node.precision));
    }
  }
  CalibrationSource source;
  source.observers.assign(observers.begin(), observers.end());
  source.images = 1;
  if (const std::string problem = problem_of(source); !problem.empty()) {
    fail(ErrorKind::bad_input, "observers: {}", problem);
  }
}

}  // namespace

bool is_calibrated(const graph::Node& node) {
  return graph::can_have(node.op, graph::Precision::int8);
}

std::vector<Operand> operands_of(const graph::Graph& graph) {
  std::vector<Operand> operands;
  for (const graph::Node& node : graph.nodes) {
    if (std::holds_alternative<graph::Attention>(node.op)) {
      for (std::size_t i = 0; i < kAttentionOperands.size(); ++i) {
        operands.push_back(
            {node.name, std::string(kAttentionOperands[i]), node.inputs[i], false, false});
      }
    } else if (is_calibrated(node)) {
      const bool linear = std::holds_alternative<graph::Linear>(node.op);
      operands.push_back({node.name, "input", node.inputs[0], linear, true});
    }
  }
  return operands;
}

Observation::Observation(std::shared_ptr<const graph::Graph> graph,
                         std::vector<std::string> observers, int workers)
    : graph_(std::move(graph)), observers_(std::move(observers)), operands_(operands_of(*graph_)) {
  check(*graph_, observers_);
  watch_operands();
  plan_ = backend::lower(graph_, {"cpu", 0}, unfused());
  const bool histograms = std::ranges::any_of(observers_, needs_histogram);
  for (int worker = 0; worker < workers; ++worker) {
    workers_.push_back({plan_->make_session(),
                        std::vector<Histogram>(histograms ? watched_.size() : std::size_t{0})});
  }
  see_constants();
}

void Observation::watch_operands() {
  for (const Operand& operand : operands_) {
    const auto [entry, added] =
        by_name_.emplace(graph_->value(operand.value).name, watched_.size());
    if (added) watched_.push_back({operand.value, false, {}});
    watched_[entry->second].channels |= operand.channel_max || operand.channel_mean;
  }
}

void Observation::see_constants() {
  constants_.values.resize(watched_.size());
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const graph::Value& value = graph_->value(watched_[i].value);
    if (!value.constant) continue;
    constants_.values[i] = see(workers_[0], i, graph::to_f32(*value.constant));
  }
}

void Observation::refuse(std::size_t index, std::span<const float> numbers) const {
  const auto operand = std::ranges::find(operands_, watched_[index].value, &Operand::value);
  const auto worst = std::ranges::find_if(
      numbers, [](float number) { return !(std::abs(number) <= kLargestMagnitude); });
  const std::string& value = graph_->value(operand->value).name;
  if (!std::isfinite(*worst)) {
    fail(ErrorKind::bad_input, "layer '{}': its {} '{}' holds a number that is not finite",
         operand->layer, operand->name, value);
  }
  fail(ErrorKind::bad_input,
       "layer '{}': its {} '{}' holds {:g}; a calibration holds magnitudes of {:g} at most",
       operand->layer, operand->name, value, *worst, kLargestMagnitude);
}

ValueGlimpse Observation::see(Worker& worker, std::size_t index,
                              std::span<const float> numbers) const {
  ValueGlimpse glimpse;
  glimpse.range = range_of_numbers(numbers);
  if (!all_within_reach(glimpse.range)) refuse(index, numbers);
  if (watched_[index].channels) {
    const graph::Dims& dims = graph_->value(watched_[index].value).dims;
    see_channels(numbers, static_cast<std::size_t>(dims.back()), glimpse);
  }
  if (!worker.histograms.empty()) worker.histograms[index].add(numbers, glimpse.largest());
  return glimpse;
}

Glimpse Observation::look(int worker, std::span<const float> image) {
  Worker& here = workers_.at(static_cast<std::size_t>(worker));
  Glimpse glimpse = constants_;
  const auto look_at = [&](const std::string& name, std::span<const float> numbers) {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) glimpse.values[found->second] = see(here, found->second, numbers);
  };
  look_at(graph_->value(graph_->input).name, image);
  here.session->trace({{}, image}, 1,
                      [&](const graph::Value& value, int, std::span<const float> numbers) {
                        look_at(value.name, numbers);
                      });
  return glimpse;
}

void Observation::add(const Glimpse& glimpse) {
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    if (glimpse.values[i].empty()) {
      fail(ErrorKind::internal, "the value '{}', which layers read, was not seen",
           graph_->value(watched_[i].value).name);
    }
    watched_[i].stats.add(glimpse.values[i]);
  }
  ++images_;
}

std::map<std::string, Range, std::less<>> Observation::ranges_of(std::size_t index) const {
  const ValueStats& stats = watched_[index].stats;
  Histogram histogram;
  for (const Worker& worker : workers_) {
    if (!worker.histograms.empty()) histogram.merge(worker.histograms[index]);
  }
  std::map<std::string, Range, std::less<>> ranges;
  for (const std::string& observer : observers_) {
    if (observer == "max") {
      ranges[observer] = stats.max();
    } else if (observer == "moving_average") {
      ranges[observer] = stats.moving_average();
    } else if (observer.starts_with(kPercentile)) {
      ranges[observer] = percentile_range(histogram, stats.max(), share_of(observer));
    } else {
      const auto search = observer == "mse" ? mse_range : entropy_range;
      for (const Format format : {Format::int8, Format::e4m3}) {
        ranges[fmt::format("{}_{}", observer, name(format))] =
            search(histogram, stats.max(), format);
      }
    }
  }
  return ranges;
}

std::vector<OperandStats> Observation::operands() const {
  if (images_ == 0) fail(ErrorKind::bad_input, "no image was run to calibrate with");
  std::vector<std::map<std::string, Range, std::less<>>> ranges;
  for (std::size_t i = 0; i < watched_.size(); ++i) ranges.push_back(ranges_of(i));
  std::vector<OperandStats> all;
  for (const Operand& operand : operands_) {
    const std::size_t index = by_name_.at(graph_->value(operand.value).name);
    const ValueStats& stats = watched_[index].stats;
    OperandStats& entry = all.emplace_back();
    entry.layer = operand.layer;
    entry.operand = operand.name;
    entry.ranges = ranges[index];
    if (operand.channel_max) entry.channel_max = stats.channel_max();
    if (operand.channel_mean) entry.channel_mean = stats.channel_mean();
  }
  return all;
}

}  // namespace assay::quant
