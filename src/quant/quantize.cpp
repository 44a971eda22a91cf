#include "quant/quantize.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "backend/flops.h"
#include "base/error.h"
#include "graph/emulate.h"
#include "graph/passes.h"
#include "graph/rewrite.h"
#include "graph/serialize.h"
#include "quant/bias.h"
#include "quant/decide.h"
#include "quant/narrow_weight.h"
#include "quant/smooth.h"

namespace assay::quant {
namespace {

using graph::kWeightInput;
using graph::Precision;
using graph::ValueId;

void check_fp32(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes) {
    if (node.precision == Precision::fp32) continue;
    fail(ErrorKind::bad_input, "layer '{}' is {} already", node.name, graph::name(node.precision));
  }
}

bool has_operand(const graph::Node& node, std::string_view operand) {
  if (!graph::can_have(node.op, Precision::bf16)) return false;  // no product, or a grouped one
  const auto operands = operand_names(node);
  return std::ranges::find(operands, operand) != operands.end();
}

void check_calibration(const graph::Graph& graph, const Recipe& recipe,
                       const Calibration* calibration) {
  if (calibration == nullptr) {
    if (!needs_calibration(recipe)) return;
    fail(ErrorKind::bad_input, "the recipe {} needs a calibration, and there is none", recipe.name);
  }
  if (calibration->graph != graph::fingerprint(graph)) {
    fail(ErrorKind::bad_input,
         "the calibration was made of another network ({}, graph {:.12}) than this {}: make one of "
         "the fp32 bundle of the same checkpoint, built with the same options",
         calibration->architecture, calibration->graph, graph.name);
  }
  for (const OperandStats& stats : calibration->operands) {
    const auto node = std::ranges::find(graph.nodes, stats.layer, &graph::Node::name);
    if (node != graph.nodes.end() && has_operand(*node, stats.operand)) continue;
    fail(ErrorKind::bad_input,
         "the calibration has an entry for the {} of '{}', and {} has no such linear layer, "
         "ungrouped convolution or attention",
         stats.operand, stats.layer, graph.name);
  }
}

class Quantizer {
 public:
  Quantizer(const graph::Graph& wide, const Recipe& recipe, const Calibration* calibration)
      : graph_(wide), calibration_(calibration), decisions_(decide(wide, recipe, calibration)) {}

  Quantized run() {
    std::vector<LayerDecision> layers = record();
    if (calibration_ != nullptr) smoothing_ = smooth(graph_, decisions_, *calibration_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Decision& decision = decisions_[i];
      if (decision.precision == Precision::fp32) continue;
      graph::Node& node = graph_.nodes[i];
      if (std::holds_alternative<graph::Attention>(node.op)) {
        narrow_attention(node, decision);
      } else {
        narrow_product(node, decision);
      }
    }
    graph::remove_dead(graph_);  // the weights as they were
    graph::verify(graph_);
    return {std::move(graph_), std::move(layers), std::move(smoothing_)};
  }

 private:
  [[nodiscard]] std::vector<LayerDecision> record() const {
    std::vector<LayerDecision> layers;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const graph::Node& node = graph_.nodes[i];
      if (decisions_[i].reason.empty()) continue;
      layers.push_back({node.name, node.role, decisions_[i].precision, decisions_[i].reason,
                        static_cast<double>(backend::count_flops(graph_, node)) / 2});
    }
    return layers;
  }

  void narrow_attention(graph::Node& node, const Decision& decision) {
    node.precision = decision.precision;
    if (decision.precision != Precision::fp8) return;
    for (const std::string_view operand : operand_names(node)) {
      node.input_scales.push_back(e4m3_scale_for(range(node, operand, decision)));
    }
  }

  void narrow_product(graph::Node& node, const Decision& decision) {
    const ValueId exact = node.inputs[kWeightInput];
    const WeightRule rule = decision.rule == nullptr ? WeightRule{} : decision.rule->weights;
    const Stored& stored = stored_weight(node, decision.precision, rule);
    node.precision = decision.precision;
    node.inputs[kWeightInput] = stored.codes;
    if (stored.scale != graph::kNone) set_input(node, graph::kWeightScaleInput, stored.scale);
    if (stored.tensor_scale != graph::kNone) {
      set_input(node, graph::kTensorScaleInput, stored.tensor_scale);
    }
    if (decision.precision == Precision::int8) {
      node.input_quantization = affine_for(range(node, "input", decision));
    } else if (decision.precision == Precision::fp8) {
      node.input_scales = {e4m3_scale_for(range(node, "input", decision))};
    }
    if (decision.rule != nullptr && decision.rule->bias_correction) correct_bias(node, exact);
  }

  static void set_input(graph::Node& node, std::size_t index, ValueId value) {
    if (node.inputs.size() <= index) node.inputs.resize(index + 1, graph::kNone);
    node.inputs[index] = value;
  }

  [[nodiscard]] Range range(const graph::Node& node, std::string_view operand,
                            const Decision& decision) const {
    const OperandStats& stats = stats_of(*calibration_, node.name, operand);
    const Range& seen = range_of(stats, decision.rule->activations, format_of(decision.precision));
    const auto smoothed = smoothing_.find(node.name);
    return smoothed == smoothing_.end() ? seen : smoothed_range(seen, stats, smoothed->second);
  }

  void correct_bias(graph::Node& node, ValueId exact) {
    const graph::Dims dims = graph_.value(exact).dims;
    std::vector<float> mean = stats_of(*calibration_, node.name, "input").channel_mean;
    if (static_cast<std::int64_t>(mean.size()) != dims[1]) {
      fail(ErrorKind::bad_input,
           "the calibration has the means of {} channels of layer '{}', whose input has {}",
           mean.size(), node.name, dims[1]);
    }
    if (const auto smoothed = smoothing_.find(node.name); smoothed != smoothing_.end()) {
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] /= smoothed->second[i];
    }
    std::vector<float> bias = bias_shift(graph::to_f32(*graph_.value(exact).constant),
                                         graph::weight_numbers(graph_, node), dims, mean);
    const ValueId old = graph::input_or_none(node, graph::kBiasInput);
    if (old != graph::kNone) {
      const std::vector<float> numbers = graph::to_f32(*graph_.value(old).constant);
      for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += numbers[i];
    }
    set_input(
        node, graph::kBiasInput,
        graph::add_constant(graph_, node.name + ".bias.corrected", {dims[0]}, std::move(bias)));
  }

  /// A weight's constants in the graph; kNone for scales that its format does not have.
  struct Stored {
    ValueId codes = graph::kNone;
    ValueId scale = graph::kNone;
    ValueId tensor_scale = graph::kNone;
  };

  /// Made once for all nodes that share the weight and how it is stored.
  const Stored& stored_weight(const graph::Node& node, Precision precision,
                              const WeightRule& rule) {
    const ValueId id = node.inputs[kWeightInput];
    const auto key = std::tuple(id, precision, rule.granularity, rule.observer);
    const auto found = stored_.find(key);
    if (found != stored_.end()) return found->second;
    const graph::Value value = graph_.value(id);
    NarrowWeight narrow =
        narrow_weight(graph::to_f32(*value.constant), value.dims, precision, rule, node.name);
    const std::string name = fmt::format("{}.{}", value.name, graph::name(precision));
    Stored stored;
    stored.codes = graph::add_constant(graph_, name, value.dims, std::move(narrow.codes));
    const auto add = [&](std::optional<graph::Value>& made, std::string_view what) {
      if (!made) return graph::kNone;
      return graph::add_constant(graph_, fmt::format("{}.{}", name, what), made->dims,
                                 std::move(*made->constant));
    };
    stored.scale = add(narrow.scale, "scale");
    stored.tensor_scale = add(narrow.tensor_scale, "tensor_scale");
    return stored_.emplace(key, stored).first->second;
  }

  graph::Graph graph_;
  const Calibration* calibration_;
  std::vector<Decision> decisions_;
  Smoothing smoothing_;
  std::map<std::tuple<ValueId, Precision, Granularity, WeightObserver>, Stored> stored_;
};

}  // namespace

Quantized quantize(const graph::Graph& wide, const Recipe& recipe, const Calibration* calibration) {
  check_fp32(wide);
  check_calibration(wide, recipe, calibration);
  return Quantizer(wide, recipe, calibration).run();
}

}  // namespace assay::quant
