/// Graphs in which only one kind of operand is rounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/emulate.h"
#include "graph/rewrite.h"
#include "quant/toy_network.h"

namespace assay::quant {
namespace {

using graph::Graph;
using graph::Precision;

Recipe recipe_of(Precision precision) {
  Recipe recipe = toy_recipe(precision, Precision::bf16);
  recipe.rules[0].except = {"head"};
  return recipe;
}

TEST(Isolate, WeightsAreThoseThatTheCodesStandFor) {
  const Graph wide = toy_network();
  const Calibration calibration = toy_calibration(wide);
  for (const Precision precision : {Precision::int8, Precision::fp8, Precision::nvfp4}) {
    const Quantized quantized = quantize(wide, recipe_of(precision), &calibration);
    const Graph weights = isolate(wide, quantized, Operands::weights);
    Graph expected = wide;
    for (graph::Node& node : expected.nodes) {
      if (!graph::can_have(node.op, Precision::int8)) continue;
      const graph::Node& narrow = *graph::find_node(quantized.graph, node.name);
      node.inputs[1] =
          graph::add_constant(expected, node.name + ".rounded", expected.value(node.inputs[1]).dims,
                              graph::weight_numbers(quantized.graph, narrow));
    }
    for (const graph::Node& node : weights.nodes) EXPECT_EQ(node.precision, Precision::fp32);
    EXPECT_EQ(toy_run(weights, 1), toy_run(expected, 1));
    EXPECT_NE(toy_run(weights, 1), toy_run(wide, 1));
  }
}

TEST(Isolate, ActivationsAreRoundedBeforeWeightsAsTheyWere) {
  const Graph wide = toy_network();
  const Calibration calibration = toy_calibration(wide);
  for (const Precision precision : {Precision::int8, Precision::fp8}) {
    const Quantized quantized = quantize(wide, recipe_of(precision), &calibration);
    const Graph activations = isolate(wide, quantized, Operands::activations);
    for (const graph::Node& node : activations.nodes) {
      if (!graph::can_have(node.op, Precision::int8)) continue;
      EXPECT_EQ(graph::to_f32(*activations.value(node.inputs[1]).constant),
                graph::to_f32(*input_of(wide, node.name, 1).constant))
          << node.name;
      EXPECT_NE(graph::find_node(activations, node.name + ".fake_quantize"), nullptr) << node.name;
    }
    EXPECT_EQ(precision_of(activations, "attn"), precision_of(quantized.graph, "attn"));
    EXPECT_NE(toy_run(activations, 1), toy_run(wide, 1));
    EXPECT_NE(toy_run(activations, 1), toy_run(quantized.graph, 1));
  }
}

TEST(Isolate, SmoothedLayersStaySmoothedAndBiasesGoWithTheWeights) {
  const Graph wide = toy_network();
  const Calibration calibration = toy_calibration(wide);
  Recipe recipe = toy_recipe(Precision::fp8);
  recipe.rules[0].layers = {"mlp.fc1"};
  recipe.rules[0].smooth = 0.5;
  recipe.rules[0].bias_correction = true;
  const Quantized quantized = quantize(wide, recipe, &calibration);
  const Graph activations = isolate(wide, quantized, Operands::activations);
  EXPECT_EQ(graph::to_f32(*input_of(activations, "mlp.fc1", 2).constant),
            graph::to_f32(*input_of(wide, "mlp.fc1", 2).constant));
  const std::vector<float> weight = graph::to_f32(*input_of(wide, "mlp.fc1", 1).constant);
  const std::vector<float> smoothed = graph::to_f32(*input_of(activations, "mlp.fc1", 1).constant);
  const std::vector<float>& factors = quantized.smoothing.at("mlp.fc1");
  for (std::size_t i = 0; i < weight.size(); ++i) {
    EXPECT_EQ(smoothed[i], weight[i] * factors[i % factors.size()]);
  }
  const Graph weights = isolate(wide, quantized, Operands::weights);
  EXPECT_EQ(graph::to_f32(*input_of(weights, "mlp.fc1", 2).constant),
            graph::to_f32(*input_of(quantized.graph, "mlp.fc1", 2).constant));
}

TEST(Isolate, AWideGraphStaysAsItIs) {
  const Graph wide = toy_network();
  const Quantized quantized = quantize(wide, default_recipe(Precision::fp32), nullptr);
  for (const Operands which : {Operands::weights, Operands::activations}) {
    EXPECT_EQ(graph::fingerprint(isolate(wide, quantized, which)), graph::fingerprint(wide));
  }
}

}  // namespace
}  // namespace assay::quant
