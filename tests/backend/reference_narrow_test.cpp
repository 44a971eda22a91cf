/// The reference backend's emulation of narrow operands, against sums written out here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/backend.h"
#include "graph/narrow.h"
#include "numerics/bf16.h"

namespace assay::backend {
namespace {

using graph::Graph;
using graph::Toy;
using graph::ValueId;

float bf16(float number) { return numerics::Bf16::decode(numerics::Bf16::encode(number)); }

std::vector<float> image() {
  std::vector<float> numbers(48);
  for (std::size_t i = 0; i < 48; ++i) numbers[i] = std::sin(static_cast<float>(i));
  return numbers;
}

std::vector<float> run(const Graph& graph, std::size_t outputs) {
  const auto plan = lower(std::make_shared<const Graph>(graph), {"reference", 0}, {});
  std::vector<float> logits(outputs);
  plan->make_session()->run({{}, image()}, 1, {logits, {}});
  return logits;
}

const std::vector<float> numbers_of(const Graph& graph, const std::string& name) {
  for (const graph::Value& value : graph.values) {
    if (value.name == name) return graph::to_f32(*value.constant);
  }
  return {};
}

Graph linear_graph() {
  Toy toy(4, 4);
  const ValueId flat = toy.node("flat", graph::Reshape{{48}}, {toy.input()});
  return toy.finish(toy.linear("head", flat, 3));
}

TEST(ReferenceNarrow, Bf16RoundsBothOperandsAndNothingElse) {
  Graph graph = linear_graph();
  const std::vector<float> weight = numbers_of(graph, "head.weight");
  const std::vector<float> bias = numbers_of(graph, "head.bias");
  graph::make_bf16(graph, "head");
  const std::vector<float> logits = run(graph, 3);
  for (std::size_t n = 0; n < 3; ++n) {
    double sum = 0;
    for (std::size_t k = 0; k < 48; ++k) {
      sum += static_cast<double>(bf16(image()[k])) * bf16(weight[n * 48 + k]);
    }
    EXPECT_FLOAT_EQ(logits[n], static_cast<float>(sum + bias[n]));
  }
}

TEST(ReferenceNarrow, AStoredBf16WeightIsTheSame) {
  Graph graph = linear_graph();
  graph::make_bf16(graph, "head");
  const std::vector<float> rounded_here = run(graph, 3);
  for (graph::Value& value : graph.values) {
    if (value.name != "head.weight") continue;
    std::vector<numerics::Bf16::Code> codes;
    for (const float number : graph::to_f32(*value.constant)) {
      codes.push_back(numerics::Bf16::encode(number));
    }
    value.constant = graph::make_constant(DType::bf16, std::as_bytes(std::span(codes)));
  }
  EXPECT_EQ(run(graph, 3), rounded_here);
}

TEST(ReferenceNarrow, Int8IsAnIntegerSumTimesTheScales) {
  Graph graph = linear_graph();
  const std::vector<float> bias = numbers_of(graph, "head.bias");
  const numerics::AffineU8 affine{0.006F, 120};  // some of the inputs saturate
  graph::make_int8(graph, "head", affine);
  const graph::Node& head = graph.nodes.back();
  const auto codes = graph.value(head.inputs[1]).constant->bytes;
  const std::vector<float> scales = numbers_of(graph, "head.scales");
  const std::vector<float> logits = run(graph, 3);
  for (std::size_t n = 0; n < 3; ++n) {
    int sum = 0;
    for (std::size_t k = 0; k < 48; ++k) {
      sum += (affine.encode(image()[k]) - affine.zero_point) *
             static_cast<std::int8_t>(codes[n * 48 + k]);
    }
    EXPECT_NEAR(logits[n], static_cast<double>(affine.scale) * scales[n] * sum + bias[n], 1e-5);
  }
}

TEST(ReferenceNarrow, Int8PaddingIsExactlyZero) {
  Toy toy(4, 4);
  Graph graph = toy.finish(toy.conv("conv", toy.input(), 2));
  graph::make_int8(graph, "conv", {0.01F, 77});
  Graph dequantized = graph;
  graph::Node& conv = graph::node_named(dequantized, "conv");
  graph::Value& weight = dequantized.values[conv.inputs[1]];
  const std::vector<float> scales = numbers_of(graph, "conv.scales");
  std::vector<float> numbers;
  for (std::size_t i = 0; i < weight.constant->bytes.size(); ++i) {
    numbers.push_back(scales[i / 27] * static_cast<std::int8_t>(weight.constant->bytes[i]));
  }
  weight.constant = graph::make_constant(numbers);
  conv.inputs.resize(2);
  conv.precision = graph::Precision::fp32;
  std::vector<float> coded = image();
  for (float& number : coded) {
    number = conv.input_quantization.decode(conv.input_quantization.encode(number));
  }
  conv.input_quantization = {};
  std::vector<float> plain(32);
  lower(std::make_shared<const Graph>(dequantized), {"reference", 0}, {})
      ->make_session()
      ->run({{}, coded}, 1, {plain, {}});
  const std::vector<float> narrow = run(graph, 32);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(narrow[i], plain[i], 1e-5F);
}

TEST(ReferenceNarrow, AttentionRoundsItsProbabilitiesToo) {
  Toy toy(2, 8);
  const ValueId tokens = toy.node("tokens", graph::Reshape{{16, 3}}, {toy.input()});
  Graph graph =
      toy.finish(toy.node("attention", graph::Attention{1, 0.7}, {tokens, tokens, tokens}));
  graph::make_bf16(graph, "attention");
  const std::vector<float> out = run(graph, 48);
  std::vector<float> x = image();
  for (float& number : x) number = bf16(number);
  for (std::size_t row = 0; row < 16; ++row) {
    std::array<double, 16> weights{};
    double sum = 0;
    for (std::size_t j = 0; j < 16; ++j) {
      double dot = 0;
      for (std::size_t c = 0; c < 3; ++c) dot += static_cast<double>(x[3 * row + c]) * x[3 * j + c];
      weights[j] = std::exp(0.7 * dot);
      sum += weights[j];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      double value = 0;
      for (std::size_t j = 0; j < 16; ++j) {
        value += static_cast<double>(bf16(static_cast<float>(weights[j] / sum))) * x[3 * j + c];
      }
      EXPECT_NEAR(out[3 * row + c], value, 1e-5);
    }
  }
}

TEST(ReferenceNarrow, ThePlanSaysThatItEmulates) {
  const auto plan =
      lower(std::make_shared<const Graph>(graph::narrow_graph()), {"reference", 0}, {});
  EXPECT_EQ(plan->description(), "reference, 1 thread, bf16, int8 emulated");
  std::vector<std::string> tactics;
  for (const StepInfo& step : plan->steps()) tactics.push_back(step.tactic);
  EXPECT_THAT(tactics, testing::ElementsAre("emulated int8", "reference", "emulated bf16",
                                            "emulated bf16", "reference", "emulated int8"));
  EXPECT_EQ(plan->steps()[0].weight_bytes, 6U * 27 + 6 * 4 + 6 * 4);  // codes, bias, scales
}

}  // namespace
}  // namespace assay::backend
