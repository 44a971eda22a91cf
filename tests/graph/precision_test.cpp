/// Narrow operands in a graph: written and read, checked, and left alone by the passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "graph/narrow.h"
#include "graph/passes.h"
#include "graph/precision_checks.h"
#include "graph/serialize.h"

namespace assay::graph {
namespace {

TEST(Precision, ComesBackTheSame) {
  const Graph graph = narrow_graph();
  const std::string text = to_json(graph).dump();
  const Graph back = read(parse_json(text, "graph"), graph);
  EXPECT_EQ(to_json(back).dump(), text);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(back.nodes[i].precision, graph.nodes[i].precision);
    EXPECT_EQ(back.nodes[i].input_quantization, graph.nodes[i].input_quantization);
    EXPECT_EQ(back.nodes[i].inputs, graph.nodes[i].inputs);
  }
}

TEST(Precision, Fp32GoesWithoutSaying) {
  Toy toy(4, 4);
  const Graph graph = toy.finish(toy.conv("conv", toy.input(), 2));
  EXPECT_THAT(to_json(graph).dump(), testing::Not(testing::HasSubstr("precision")));
  Json json = to_json(graph);
  json["nodes"][0]["precision"] = "fp32";
  EXPECT_EQ(error_of([&] { read(json, graph); }).first, ErrorKind::corrupt);
}

/// Sets a field of a node of the narrow graph and expects a refusal in these words.
void expect_unread(std::size_t node, const char* field, const Json& value,
                   const std::string& words) {
  const Graph graph = narrow_graph();
  Json json = to_json(graph);
  json["nodes"][node][field] = value;
  const auto [kind, message] = error_of([&] { read(json, graph); });
  EXPECT_EQ(kind, ErrorKind::corrupt) << field << value;
  EXPECT_THAT(message, testing::HasSubstr(words));
}

TEST(Precision, RefusesFieldsThatLie) {
  expect_unread(0, "precision", "int4", "'precision' needs to be fp16, bf16, int8, fp8 or nvfp4");
  expect_unread(0, "precision", 8, "'precision' needs to be a string");
  expect_unread(0, "precision", "bf16", "'input_scale' is not known");
  expect_unread(0, "input_scale", 0, "input scale is 0");
  expect_unread(0, "input_scale", -1.0, "input scale is -1");
  expect_unread(0, "input_scale", 1e-45F, "input scale is");  // its inverse is infinite
  expect_unread(0, "input_scale", 0.1, "'input_scale' needs to be a number of fp32");
  expect_unread(0, "input_scale", 1e300, "'input_scale' needs to be a number of fp32");
  expect_unread(0, "input_scale", nullptr, "'input_scale' needs to be a number");
  expect_unread(0, "input_zero_point", 256, "'input_zero_point' needs to be a whole number");
  expect_unread(0, "input_zero_point", -1, "'input_zero_point' needs to be a whole number");
  expect_unread(0, "groups", 3, "conv");
  expect_unread(1, "precision", "bf16", "node 'tokens': reshape cannot be bf16");
  expect_unread(2, "precision", "int8", "has no 'input_scale'");
  expect_unread(3, "precision", "int8", "has no 'input_scale'");
  const Graph graph = narrow_graph();
  Json json = to_json(graph);
  json["nodes"][0].erase("precision");
  EXPECT_EQ(error_of([&] { read(json, graph); }).first, ErrorKind::corrupt);
}

TEST(Precision, NoSingleFieldCanDoHarm) {
  expect_no_field_does_harm(narrow_graph(), {nullptr, true, "", "bf16", "int8", -1, 0, 1, 5, 7,
                                             1e308, -0.5, Json::array()});
}

template <typename Break>
void expect_refused(const Break& break_it, const std::string& words) {
  expect_refused(narrow_graph(), break_it, words);
}

TEST(Precision, VerifyHoldsTheFieldsTogether) {
  const auto conv = [](Graph& g) -> Node& { return node_named(g, "conv"); };
  const auto weight = [&](Graph& g) -> Value& { return g.values[conv(g).inputs[1]]; };
  const auto scales = [&](Graph& g) -> Value& { return g.values[conv(g).inputs[4]]; };
  expect_refused([&](Graph& g) { conv(g).precision = Precision::bf16; }, "'conv.weight' is I8");
  expect_refused([&](Graph& g) { conv(g).precision = Precision::fp32; }, "'conv.weight' is I8");
  expect_refused([&](Graph& g) { conv(g).inputs[4] = kNone; }, "no weight scales");
  expect_refused([&](Graph& g) { conv(g).inputs.pop_back(); }, "no weight scales");
  expect_refused([&](Graph& g) { conv(g).inputs[4] = g.nodes[0].output; }, "conv");
  expect_refused([&](Graph& g) { weight(g).constant = make_constant(std::vector<float>(162)); },
                 "'conv.weight' is F32 and not I8");
  expect_refused(
      [&](Graph& g) {
        std::vector<std::byte> codes(162, std::byte{0x80});
        weight(g).constant = make_constant(DType::i8, codes);
      },
      "holds -128");
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    expect_refused(
        [&](Graph& g) {
          scales(g).constant = make_constant(std::vector<float>{1, 1, 1, 1, 1, scale});
        },
        "'conv.scales' hold");
    expect_refused([&](Graph& g) { conv(g).input_quantization.scale = scale; }, "input scale is");
  }
  expect_refused(
      [&](Graph& g) {
        std::vector<std::byte> halves(12, std::byte{0x38});
        scales(g).constant = make_constant(DType::f16, halves);
      },
      "'conv.scales' is F16 and not F32");
  expect_refused(
      [&](Graph& g) {
        node_named(g, "q").inputs.push_back(kNone),
            node_named(g, "q").inputs.push_back(conv(g).inputs[4]);
      },
      "it is bf16, but has weight scales");
  expect_refused([&](Graph& g) { node_named(g, "q").input_quantization.zero_point = 1; },
                 "it is bf16, but has an input scale");
  expect_refused([](Graph& g) { node_named(g, "attention").precision = Precision::int8; },
                 "attention cannot be int8");
  expect_refused([](Graph& g) { node_named(g, "mean").precision = Precision::bf16; },
                 "mean cannot be bf16");
  expect_refused(
      [](Graph& g) {
        const std::vector<std::byte> codes(3);
        g.values.push_back({"stray", {3}, make_constant(DType::i8, codes)});
      },
      "'stray' is I8, but is no node's weight");
}

TEST(Precision, GroupedConvolutionsStayFp32) {
  Toy toy(4, 4);
  Conv2d op;
  op.groups = 3;
  Graph graph = toy.finish(toy.node("conv", op, {toy.input(), toy.constant("w", {3, 1, 1, 1})}));
  make_bf16(graph, "conv");
  EXPECT_THAT(error_of([&] { verify(graph); }).second,
              testing::HasSubstr("a grouped conv2d cannot be bf16"));
}

TEST(Precision, SumsThatDoNotFitAnInt32AreRefused) {
  const auto graph_of_depth = [](std::int64_t depth) {
    Toy toy(1, depth / 3);
    const ValueId flat = toy.node("flat", Reshape{{depth}}, {toy.input()});
    Graph graph = toy.finish(toy.linear("head", flat, 1));
    make_int8(graph, "head", {1, 0});
    return graph;
  };
  EXPECT_NO_THROW(verify(graph_of_depth(kMaxInt8Depth / 3 * 3)));
  EXPECT_THAT(error_of([&] { verify(graph_of_depth(kMaxInt8Depth / 3 * 3 + 3)); }).second,
              testing::HasSubstr("node 'head': it is int8 and adds up"));
}

TEST(Precision, PassesKeepIt) {
  Toy toy(4, 5);
  const ValueId conv = toy.conv("conv", toy.input(), 3, true);
  const ValueId active = toy.node("act", Activate{Activation::silu}, {conv});
  const ValueId sum = toy.node("add", Add{}, {active, toy.input()});
  const ValueId normed = toy.batch_norm("norm", toy.conv("second", sum, 3));
  toy.node("dead", Activate{Activation::gelu}, {conv});
  Graph graph = toy.finish(normed);
  make_int8(graph, "conv", {0.0078125F, 128});
  make_bf16(graph, "second");
  remove_dead(graph);
  const std::vector<float> before = logits_of(graph);
  optimize(graph, 1);
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 3U);  // a narrow convolution takes no BatchNorm
  EXPECT_EQ(graph.nodes[0].precision, Precision::int8);
  EXPECT_EQ(graph.nodes[0].input_quantization, (numerics::AffineU8{0.0078125F, 128}));
  EXPECT_EQ(graph.value(graph.nodes[0].inputs[kWeightScaleInput]).name, "conv.scales");
  EXPECT_EQ(graph.nodes[0].inputs[kResidualInput], graph.input);
  EXPECT_EQ(graph.nodes[1].precision, Precision::bf16);
  const std::vector<float> after = logits_of(graph);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 2e-2F);
}

TEST(Fingerprint, SeesEveryChange) {
  const Graph graph = narrow_graph();
  const std::string print = fingerprint(graph);
  EXPECT_EQ(print.size(), 64U);
  EXPECT_EQ(fingerprint(narrow_graph()), print);
  Graph scaled = graph;
  scaled.nodes[0].input_quantization.scale *= 2;
  EXPECT_NE(fingerprint(scaled), print);
  Graph other = graph;
  for (Value& value : other.values) {
    if (value.name == "q.bias") value.constant = make_constant(std::vector<float>(6, 0.5F));
  }
  EXPECT_NE(fingerprint(other), print);
}

}  // namespace
}  // namespace assay::graph
