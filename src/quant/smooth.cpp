#include "quant/smooth.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/rewrite.h"

namespace assay::quant {
namespace {

using graph::kWeightInput;
using graph::ValueId;

constexpr double kSmallestFactor = 1e-5;
constexpr double kLargestFactor = 1e5;
constexpr std::size_t kGamma = 1;
constexpr std::size_t kBeta = 2;

/// Layers that read one LayerNorm, by index of node.
struct Group {
  std::size_t norm = 0;
  double alpha = 0;
  std::vector<std::size_t> readers;
};

class Smoother {
 public:
  Smoother(graph::Graph& graph, const std::vector<Decision>& decisions,
           const Calibration& calibration)
      : graph_(graph), decisions_(decisions), calibration_(calibration), uses_(graph) {}

  Smoothing run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (alpha_of(i)) join_group(i);
    }
    for (const auto& [input, group] : groups_) {
      check_readers(input, group);
      apply(group);
    }
    return std::move(smoothing_);
  }

 private:
  [[nodiscard]] std::optional<double> alpha_of(std::size_t node) const {
    const Rule* const rule = decisions_[node].rule;
    return rule == nullptr ? std::nullopt : rule->smooth;
  }

  void join_group(std::size_t index) {
    const graph::Node& node = graph_.nodes[index];
    const std::size_t producer = uses_.producer(node.inputs[0]);
    const bool behind_norm = producer != graph::Uses::kNobody &&
                             std::holds_alternative<graph::LayerNorm>(graph_.nodes[producer].op);
    if (!std::holds_alternative<graph::Linear>(node.op) || !behind_norm) {
      fail(ErrorKind::bad_input,
           "layer '{}' cannot be smoothed: it is no linear layer that reads a LayerNorm; leave it "
           "out of the rule or smoothing out of its rule",
           node.name);
    }
    const auto [found, made] =
        groups_.try_emplace(node.inputs[0], Group{producer, *alpha_of(index), {}});
    found->second.readers.push_back(index);
  }

  /// Scales that move into the LayerNorm are seen by all that read it.
  void check_readers(ValueId input, const Group& group) const {
    const std::string& layer = graph_.nodes[group.readers[0]].name;
    const std::string& norm = graph_.nodes[group.norm].name;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const graph::Node& node = graph_.nodes[i];
      const auto reads = std::ranges::count(node.inputs, input);
      if (reads == 0 || (reads == 1 && alpha_of(i) == group.alpha)) continue;
      fail(ErrorKind::bad_input,
           "layer '{}' cannot be smoothed: '{}' reads the LayerNorm '{}' too and is not smoothed "
           "with the same strength; name '{}' in the rule's 'except'",
           layer, node.name, norm, layer);
    }
    if (graph::is_output(graph_, input)) {
      fail(ErrorKind::bad_input,
           "layer '{}' cannot be smoothed: the LayerNorm '{}' is an output of the network", layer,
           norm);
    }
  }

  [[nodiscard]] std::vector<float> factors_of(const Group& group) const {
    const std::string& layer = graph_.nodes[group.readers[0]].name;
    const std::vector<float>& largest = stats_of(calibration_, layer, "input").channel_max;
    const auto channels =
        static_cast<std::size_t>(graph_.value(graph_.nodes[group.norm].output).dims.back());
    if (largest.size() != channels) {
      fail(ErrorKind::bad_input,
           "the calibration has {} channels' largest magnitudes of layer '{}', whose input has {}",
           largest.size(), layer, channels);
    }
    std::vector<float> weights(channels, 0.0F);
    for (const std::size_t reader : group.readers) {
      const ValueId weight = graph_.nodes[reader].inputs[kWeightInput];
      const std::vector<float> numbers = graph::to_f32(*graph_.value(weight).constant);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        float& most = weights[i % channels];
        most = std::max(most, std::abs(numbers[i]));
      }
    }
    std::vector<float> factors(channels, 1.0F);
    for (std::size_t i = 0; i < channels; ++i) {
      if (largest[i] == 0 || weights[i] == 0) continue;
      const double factor = std::pow(static_cast<double>(largest[i]), group.alpha) /
                            std::pow(static_cast<double>(weights[i]), 1 - group.alpha);
      factors[i] = static_cast<float>(std::clamp(factor, kSmallestFactor, kLargestFactor));
    }
    return factors;
  }

  void apply(const Group& group) {
    const std::vector<float> factors = factors_of(group);
    graph::Node& norm = graph_.nodes[group.norm];
    for (const std::size_t input : {kGamma, kBeta}) {
      norm.inputs[input] = scaled(norm.inputs[input], factors, norm.name, true);
    }
    for (const std::size_t reader : group.readers) {
      graph::Node& node = graph_.nodes[reader];
      node.inputs[kWeightInput] = scaled(node.inputs[kWeightInput], factors, node.name, false);
      smoothing_.emplace(node.name, factors);
    }
  }

  /// A constant of the same numbers, channel by channel (last axis) divided or multiplied.
  ValueId scaled(ValueId id, const std::vector<float>& factors, const std::string& layer,
                 bool divide) {
    const graph::Value value = graph_.value(id);
    std::vector<float> numbers = graph::to_f32(*value.constant);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float factor = factors[i % factors.size()];
      numbers[i] = divide ? numbers[i] / factor : numbers[i] * factor;
      if (!std::isfinite(numbers[i])) {
        fail(ErrorKind::bad_input, "layer '{}': smoothing makes '{}' infinite", layer, value.name);
      }
    }
    return graph::add_constant(graph_, value.name + ".smoothed", value.dims, std::move(numbers));
  }

  graph::Graph& graph_;
  const std::vector<Decision>& decisions_;
  const Calibration& calibration_;
  graph::Uses uses_;
  std::map<ValueId, Group> groups_;
  Smoothing smoothing_;
};

}  // namespace

Smoothing smooth(graph::Graph& graph, const std::vector<Decision>& decisions,
                 const Calibration& calibration) {
  return Smoother(graph, decisions, calibration).run();
}

Range smoothed_range(const Range& range, const OperandStats& stats,
                     const std::vector<float>& factors) {
  double before = 0;
  double after = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    before = std::max(before, static_cast<double>(stats.channel_max[i]));
    after = std::max(after, static_cast<double>(stats.channel_max[i]) / factors[i]);
  }
  if (before == 0) return range;
  const double kept = std::max(std::abs(range.low), std::abs(range.high)) / before;
  const auto most = static_cast<float>(after * kept);
  return {range.low < 0 ? -most : 0.0F, range.high > 0 ? most : 0.0F};
}

}  // namespace assay::quant
