/// Graphs at bf16 and int8: what becomes narrow, how, and how near the answers stay.
#include "quant/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/narrow.h"
#include "graph/serialize.h"
#include "numerics/bf16.h"
#include "quant/observe.h"

namespace assay::quant {
namespace {

using graph::error_of;
using graph::Graph;
using graph::Precision;
using graph::Toy;
using graph::ValueId;
using testing::HasSubstr;

Graph toy_graph() {
  Toy toy(4, 4);
  const ValueId x = toy.conv("conv", toy.input(), 4, true);
  graph::Conv2d depthwise;
  depthwise.groups = 4;
  const ValueId spread = toy.node("dw", depthwise, {x, toy.constant("dw.weight", {4, 1, 1, 1})});
  const ValueId flat = toy.node("flat", graph::Reshape{{16, 4}}, {spread});
  const ValueId q = toy.linear("q", flat, 4);
  const ValueId k = toy.linear("k", flat, 4);
  const ValueId seen = toy.node("attention", graph::Attention{2, 0.5}, {q, k, flat});
  const ValueId pooled = toy.node("mean", graph::Mean{{0}}, {seen});
  return toy.finish(toy.linear("head", pooled, 3));
}

std::vector<float> image() {
  std::vector<float> numbers(48);
  for (std::size_t i = 0; i < 48; ++i) numbers[i] = std::sin(static_cast<float>(i));
  return numbers;
}

Calibration calibrate(const Graph& graph) {
  Observation seen(std::make_shared<const Graph>(graph), {"max"});
  seen.observe(image());
  return {graph.name, graph::fingerprint(graph), {{"max"}, 1, 1, 0, 0}, seen.operands()};
}

std::vector<float> logits_for(const Graph& graph) {
  const auto plan = backend::lower(std::make_shared<const Graph>(graph), {"reference", 0}, {});
  std::vector<float> logits(3);
  plan->make_session()->run({{}, image()}, 1, {logits, {}});
  return logits;
}

const graph::Value& weight_of(const Graph& graph, const std::string& node) {
  return graph.value(graph::find_node(graph, node)->inputs[1]);
}

TEST(Quantize, Bf16StoresHalfAndStaysNear) {
  const Graph graph = toy_graph();
  const Graph narrow = quantize(graph, Precision::bf16, nullptr);
  for (const graph::Node& node : narrow.nodes) {
    // "conv" reads the picture.
    const bool expected = graph::can_have(node.op, Precision::bf16) && node.name != "conv";
    EXPECT_EQ(node.precision, expected ? Precision::bf16 : Precision::fp32) << node.name;
  }
  for (const char* name : {"q", "k", "head"}) {
    const graph::Value& weight = weight_of(narrow, name);
    EXPECT_EQ(weight.name, std::string(name) + ".weight.bf16");
    EXPECT_EQ(weight.constant->dtype, DType::bf16);
    const std::vector<float> exact = graph::to_f32(*weight_of(graph, name).constant);
    const std::vector<float> stored = graph::to_f32(*weight.constant);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_EQ(stored[i], numerics::Bf16::decode(numerics::Bf16::encode(exact[i])));
    }
  }
  EXPECT_EQ(weight_of(narrow, "dw").constant->dtype, DType::f32);
  EXPECT_EQ(weight_of(narrow, "conv").constant->dtype, DType::f32);
  EXPECT_EQ(narrow.values.size(), graph.values.size());  // the old weights are gone
  const std::vector<float> before = logits_for(graph);
  const std::vector<float> after = logits_for(narrow);
  EXPECT_NE(before, after);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(after[i], before[i], 0.03);
}

TEST(Quantize, Int8HasAScaleAChannelAndStaysNear) {
  const Graph graph = toy_graph();
  const Calibration calibration = calibrate(graph);
  const Graph narrow = quantize(graph, Precision::int8, &calibration);
  for (const graph::Node& node : narrow.nodes) {
    if (!is_calibrated(node)) continue;
    EXPECT_EQ(node.precision, Precision::int8) << node.name;
    const OperandStats* stats = find(calibration, node.name, "input");
    ASSERT_NE(stats, nullptr) << node.name;
    EXPECT_EQ(node.input_quantization, affine_for(range_of(*stats, "max", Format::int8)));
  }
  EXPECT_EQ(graph::find_node(narrow, "attention")->precision, Precision::bf16);
  EXPECT_EQ(graph::find_node(narrow, "dw")->precision, Precision::fp32);
  const std::vector<float> before = logits_for(graph);
  const std::vector<float> after = logits_for(narrow);
  EXPECT_NE(before, after);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(after[i], before[i], 0.1);
}

TEST(Quantize, WeightCodesAreTheNearest) {
  Graph graph = toy_graph();
  std::vector<float> numbers(12);  // head: [3, 4]
  for (std::size_t i = 0; i < 4; ++i) numbers[i] = std::array{-2.54F, 1.2F, 0.009F, 0.031F}[i];
  numbers[5] = 1e-42F;  // so small that it is as good as 0; the third channel is 0
  for (graph::Value& value : graph.values) {
    if (value.name == "head.weight") value.constant = graph::make_constant(numbers);
  }
  const Calibration calibration = calibrate(graph);
  const Graph narrow = quantize(graph, Precision::int8, &calibration);
  const graph::Node& head = *graph::find_node(narrow, "head");
  const auto scales = graph::to_f32(*narrow.value(head.inputs[4]).constant);
  EXPECT_THAT(scales, testing::ElementsAre(2.54F / 127, 1, 1));
  const auto bytes = weight_of(narrow, "head").constant->bytes;
  std::vector<int> codes;
  for (const std::byte code : bytes) codes.push_back(static_cast<std::int8_t>(code));
  EXPECT_THAT(codes, testing::ElementsAre(-127, 60, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(narrow.value(head.inputs[2]).name, "head.bias");
}

TEST(Quantize, ASharedWeightIsStoredOnce) {
  Toy toy(2, 2);
  const ValueId x =
      toy.node("resized", graph::Resize{graph::ResizeMode::bilinear, 3, 2}, {toy.input()});
  const ValueId flat = toy.node("flat", graph::Reshape{{6, 3}}, {toy.conv("conv", x, 3)});
  const ValueId weight = toy.constant("shared", {3, 3});
  const ValueId a = toy.node("a", graph::Linear{}, {flat, weight});
  const Graph graph = toy.finish(toy.node("b", graph::Linear{}, {a, weight}));
  const Graph narrow = quantize(graph, Precision::bf16, nullptr);
  EXPECT_EQ(graph::find_node(narrow, "a")->inputs[1], graph::find_node(narrow, "b")->inputs[1]);
  EXPECT_EQ(narrow.values.size(), graph.values.size());
  // A resized picture is a picture still.
  EXPECT_EQ(graph::find_node(narrow, "conv")->precision, Precision::fp32);
}

TEST(Quantize, RefusesACalibrationThatDoesNotFit) {
  const Graph graph = toy_graph();
  const auto refused = [&](const Calibration* calibration, Precision precision) {
    const auto [kind, message] = error_of([&] { quantize(graph, precision, calibration); });
    EXPECT_EQ(kind, ErrorKind::bad_input);
    return message;
  };
  const Calibration good = calibrate(graph);
  EXPECT_THAT(refused(nullptr, Precision::int8), HasSubstr("int8 needs a calibration"));
  EXPECT_THAT(refused(&good, Precision::bf16), HasSubstr("bf16 takes no calibration"));
  Calibration lacking = good;
  lacking.operands.erase(lacking.operands.begin() + 1);
  EXPECT_THAT(refused(&lacking, Precision::int8), HasSubstr("no entry for the layer 'q'"));
  Calibration more = good;
  more.operands.push_back({"dw", "input", {{"max", {0, 1}}}, {}, {}});
  EXPECT_THAT(refused(&more, Precision::int8), HasSubstr("an entry for 'dw'"));
  Calibration other = good;
  other.graph = std::string(64, '0');
  EXPECT_THAT(refused(&other, Precision::int8), HasSubstr("of another network"));
}

TEST(Quantize, RefusesWhatItCannotDo) {
  const Graph narrow = graph::narrow_graph();
  EXPECT_THAT(error_of([&] { quantize(narrow, Precision::bf16, nullptr); }).second,
              HasSubstr("layer 'conv' is int8 already"));
  Toy toy(1, graph::kMaxInt8Depth / 3 + 1);
  const std::int64_t depth = (graph::kMaxInt8Depth / 3 + 1) * 3;
  const ValueId flat = toy.node("flat", graph::Reshape{{depth}}, {toy.input()});
  const Graph deep = toy.finish(toy.linear("head", flat, 1));
  Calibration calibration = calibrate(toy_graph());
  calibration.graph = graph::fingerprint(deep);
  calibration.operands = {{"head", "input", {{"max", {0, 1}}}, {}, {}}};
  const auto [kind, message] = error_of([&] { quantize(deep, Precision::int8, &calibration); });
  EXPECT_EQ(kind, ErrorKind::unsupported);
  EXPECT_THAT(message, HasSubstr("layer 'head' adds up"));
  Graph large = toy_graph();
  for (graph::Value& value : large.values) {
    if (value.name != "head.weight") continue;
    value.constant = graph::make_constant(std::vector<float>(12, 3.4e38F));
  }
  EXPECT_THAT(error_of([&] { quantize(large, Precision::bf16, nullptr); }).second,
              HasSubstr("'head.weight' holds 3.4e+38, which is infinite in bf16"));
}

TEST(Quantize, Fp32IsTheGraphItself) {
  const Graph graph = toy_graph();
  EXPECT_EQ(graph::fingerprint(quantize(graph, Precision::fp32, nullptr)),
            graph::fingerprint(graph));
}

}  // namespace
}  // namespace assay::quant
