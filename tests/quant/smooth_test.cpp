/// Smoothing and bias correction: what they leave equal, what they better, what they refuse.
#include "quant/smooth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "quant/bias.h"
#include "quant/toy_network.h"

namespace assay::quant {
namespace {

using graph::error_of;
using graph::Graph;
using graph::Precision;
using graph::Role;
using testing::HasSubstr;

Recipe smoothing_recipe(Precision precision, std::vector<Role> roles) {
  Recipe recipe = toy_recipe(precision);
  recipe.rules[0].roles = std::move(roles);
  recipe.rules[0].smooth = 0.5;
  return recipe;
}

TEST(Smooth, LeavesWhatTheNetworkComputes) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  const Recipe recipe = smoothing_recipe(Precision::fp8, {Role::qkv, Role::fc1});
  Graph smoothed = graph;
  const Smoothing factors = smooth(smoothed, decide(graph, recipe, &calibration), calibration);
  ASSERT_EQ(factors.size(), 2U);
  graph::verify(smoothed);
  for (const char* value : {"attn.qkv", "mlp.fc1", "head"}) {
    const std::vector<float> before = toy_run(graph, 2, value);
    const std::vector<float> after = toy_run(smoothed, 2, value);
    EXPECT_NE(toy_run(graph, 2, "norm1"), toy_run(smoothed, 2, "norm1"));
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_NEAR(after[i], before[i], 2e-5 * (1 + std::abs(before[i]))) << value;
    }
  }
}

TEST(Smooth, FactorsAreThePapers) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  Recipe recipe = smoothing_recipe(Precision::int8, {Role::fc1});
  recipe.rules[0].smooth = 0.25;
  const Quantized quantized = quantize(graph, recipe, &calibration);
  const std::vector<float>& factors = quantized.smoothing.at("mlp.fc1");
  const std::vector<float>& inputs = find(calibration, "mlp.fc1", "input")->channel_max;
  const std::vector<float> weight = graph::to_f32(*input_of(graph, "mlp.fc1", 1).constant);
  for (std::size_t channel = 0; channel < 20; ++channel) {
    float largest = 0;
    for (std::size_t row = 0; row < 40; ++row) {
      largest = std::max(largest, std::abs(weight[row * 20 + channel]));
    }
    EXPECT_NEAR(factors[channel], std::pow(inputs[channel], 0.25) / std::pow(largest, 0.75), 1e-5);
  }
}

TEST(Smooth, RangesFollowTheChannels) {
  OperandStats stats;
  stats.channel_max = {8, 1};
  const auto expect = [&](Range range, Range wanted) {
    const Range smoothed = smoothed_range(range, stats, {4, 0.5F});
    EXPECT_FLOAT_EQ(smoothed.low, wanted.low);
    EXPECT_FLOAT_EQ(smoothed.high, wanted.high);
  };
  expect({-1, 8}, {-2, 2});  // 8 / 4 and 1 / 0.5
  expect({-4, 2}, {-1, 1});  // half of the largest was kept
  expect({0, 8}, {0, 2});
  expect({-8, 0}, {-2, 0});
}

/// Mean squared error of the value over the toy's images.
double noise(const Graph& wide, const Graph& narrow, const std::string& value) {
  double sum = 0;
  for (int image = 0; image < 4; ++image) {
    const std::vector<float> exact = toy_run(wide, image, value);
    const std::vector<float> rounded = toy_run(narrow, image, value);
    for (std::size_t i = 0; i < exact.size(); ++i) sum += std::pow(exact[i] - rounded[i], 2);
  }
  return sum;
}

TEST(Smooth, HelpsWhereOneChannelIsLarge) {
  Graph graph = toy_network();
  std::vector<float> gamma(20, 1.0F);
  gamma[3] = 200;
  set_numbers(graph, "norm2.weight", gamma);
  const Calibration calibration = toy_calibration(graph);
  Recipe recipe = smoothing_recipe(Precision::int8, {Role::fc1});
  const Graph smoothed = quantize(graph, recipe, &calibration).graph;
  recipe.rules[0].smooth.reset();
  const Graph plain = quantize(graph, recipe, &calibration).graph;
  EXPECT_LT(noise(graph, smoothed, "mlp.fc1"), 0.5 * noise(graph, plain, "mlp.fc1"));
}

TEST(Smooth, RefusesLayersByName) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  const auto refused = [&](const Graph& network, const Recipe& recipe) {
    const Calibration own = toy_calibration(network);
    const auto [kind, message] = error_of([&] { quantize(network, recipe, &own); });
    EXPECT_EQ(kind, ErrorKind::bad_input);
    return message;
  };
  EXPECT_THAT(refused(graph, smoothing_recipe(Precision::fp8, {Role::fc2})),
              HasSubstr("layer 'mlp.fc2' cannot be smoothed: it is no linear layer that reads a "
                        "LayerNorm"));
  EXPECT_THAT(refused(graph, smoothing_recipe(Precision::fp8, {Role::attention})),
              HasSubstr("layer 'attn' cannot be smoothed"));
  Graph branching = graph;
  branching.outputs.push_back({"features", graph::find_node(graph, "norm2")->output});
  EXPECT_THAT(refused(branching, smoothing_recipe(Precision::fp8, {Role::fc1})),
              HasSubstr("the LayerNorm 'norm2' is an output of the network"));
  graph::Toy toy(2, 2);
  const graph::ValueId flat = toy.node("flat", graph::Reshape{{4, 3}}, {toy.input()});
  const graph::ValueId norm =
      toy.node("norm", graph::LayerNorm{1e-5},
               {flat, toy.constant("norm.weight", {3}), toy.constant("norm.bias", {3})});
  const graph::ValueId query = toy.linear("query", norm, 3);
  const Graph shared =
      toy.finish(toy.node("sum", graph::Add{}, {query, toy.linear("key", norm, 3)}));
  Recipe recipe = toy_recipe(Precision::fp8);
  recipe.rules[0].layers = {"key"};
  recipe.rules[0].smooth = 0.5;
  Calibration seen;
  const auto message =
      error_of([&] {
        Observation watched(std::make_shared<const Graph>(shared), {"max"});
        watched.observe(std::vector<float>(12, 0.5F));
        seen = {"toy", graph::fingerprint(shared), {{"max"}, 1, 1, 0, 0}, watched.operands()};
        quantize(shared, recipe, &seen);
      }).second;
  EXPECT_THAT(message, HasSubstr("layer 'key' cannot be smoothed: 'query' reads the LayerNorm "
                                 "'norm' too"));
  recipe.rules[0].layers = {"*"};
  EXPECT_EQ(quantize(shared, recipe, &seen).smoothing.size(), 2U);
}

TEST(BiasShift, IsTheMeanErrorOfTheWeights) {
  // Two channels of [2 inputs, 1 × 2 places].
  const std::vector<float> exact{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> rounded{1, 2, 3.5F, 4, 5, 6.25F, 7, 7};
  EXPECT_THAT(bias_shift(exact, rounded, {2, 2, 1, 2}, std::vector<float>{10, 100}),
              testing::ElementsAre(-50, 97.5F));
}

/// Sum over channels of the squared mean error of a layer's output.
double mean_error(const Graph& wide, const Graph& narrow, const std::string& value,
                  std::size_t channels) {
  std::vector<double> means(channels, 0.0);
  for (int image = 0; image < 4; ++image) {
    const std::vector<float> exact = toy_run(wide, image, value);
    const std::vector<float> rounded = toy_run(narrow, image, value);
    for (std::size_t i = 0; i < exact.size(); ++i) means[i % channels] += rounded[i] - exact[i];
  }
  double sum = 0;
  for (const double mean : means) sum += mean * mean;
  return sum;
}

TEST(BiasCorrection, TakesOutTheMeanError) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  for (const auto& [layer, channels] :
       {std::pair<std::string, std::size_t>("mlp.fc2", 20), {"expand", 20}, {"mlp.fc1", 40}}) {
    Recipe recipe = toy_recipe(Precision::nvfp4);
    recipe.rules[0].layers = {layer};
    const Graph plain = quantize(graph, recipe, &calibration).graph;
    recipe.rules[0].bias_correction = true;
    const Graph corrected = quantize(graph, recipe, &calibration).graph;
    EXPECT_LT(mean_error(graph, corrected, layer, channels),
              0.01 * mean_error(graph, plain, layer, channels))
        << layer;
  }
}

TEST(BiasCorrection, MakesABiasWhereThereWasNone) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  Recipe recipe = toy_recipe(Precision::fp8);
  recipe.rules[0].layers = {"expand"};
  recipe.rules[0].bias_correction = true;
  const Graph corrected = quantize(graph, recipe, &calibration).graph;
  EXPECT_EQ(input_of(corrected, "expand", 2).name, "expand.bias.corrected");
  Calibration lacking = calibration;
  for (OperandStats& stats : lacking.operands) stats.channel_mean.clear();
  EXPECT_THAT(error_of([&] { quantize(graph, recipe, &lacking); }).second,
              HasSubstr("the means of 0 channels of layer 'expand', whose input has 4"));
}

}  // namespace
}  // namespace assay::quant
