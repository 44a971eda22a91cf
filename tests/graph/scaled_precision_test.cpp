/// fp16, fp8 and nvfp4 operands in a graph: written and read, and checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "graph/precision_checks.h"
#include "graph/scaled.h"
#include "graph/serialize.h"

namespace assay::graph {
namespace {

TEST(ScaledPrecision, ComesBackTheSame) {
  const Graph graph = scaled_graph();
  const std::string text = to_json(graph).dump();
  const Graph back = read(parse_json(text, "graph"), graph);
  EXPECT_EQ(to_json(back).dump(), text);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(back.nodes[i].precision, graph.nodes[i].precision);
    EXPECT_EQ(back.nodes[i].input_scales, graph.nodes[i].input_scales);
    EXPECT_EQ(back.nodes[i].role, graph.nodes[i].role);
    EXPECT_EQ(back.nodes[i].inputs, graph.nodes[i].inputs);
  }
  EXPECT_EQ(logits_of(back), logits_of(graph));
}

TEST(ScaledPrecision, NamesComeBack) {
  for (const Precision precision : kPrecisions) {
    EXPECT_EQ(precision_from_name(name(precision)), precision);
  }
  for (int role = 0; role <= static_cast<int>(Role::classifier); ++role) {
    EXPECT_EQ(role_from_name(name(static_cast<Role>(role))), static_cast<Role>(role));
  }
  EXPECT_EQ(name(Role::attention_projection), "attention_projection");
  EXPECT_EQ(name(Role::patch_embedding), "patch_embedding");
  EXPECT_EQ(precision_from_name("e4m3"), std::nullopt);
  EXPECT_EQ(role_from_name(""), std::nullopt);
}

/// Sets a field of a node of the graph and expects a refusal in these words.
void expect_unread(const char* node, const char* field, const Json& value,
                   const std::string& words) {
  const Graph graph = scaled_graph();
  Json json = to_json(graph);
  for (Json& entry : json["nodes"]) {
    if (entry["name"] == node) entry[field] = value;
  }
  const auto [kind, message] = error_of([&] { verify(read(json, graph)); });
  EXPECT_EQ(kind, ErrorKind::corrupt) << field << value;
  EXPECT_THAT(message, testing::HasSubstr(words));
}

TEST(ScaledPrecision, RefusesFieldsThatLie) {
  expect_unread("conv", "precision", "e4m3", "'precision' needs to be fp16, bf16, int8, fp8");
  expect_unread("conv", "precision", "fp16", "'input_scales' is not known");
  expect_unread("conv", "precision", "nvfp4", "'input_scales' is not known");
  expect_unread("conv", "input_scales", Json::array(), "fp8 with 0 input scales, 1 are needed");
  expect_unread("conv", "input_scales", {1.0, 1.0}, "fp8 with 2 input scales, 1 are needed");
  expect_unread("conv", "input_scales", {1.0, 1.0, 1.0, 1.0}, "'input_scales' needs to be");
  expect_unread("conv", "input_scales", 0.5, "'input_scales' needs to be an array");
  expect_unread("conv", "input_scales", {"1"}, "'input_scales' needs to be numbers of fp32");
  expect_unread("conv", "input_scales", {0.1}, "'input_scales' needs to be numbers of fp32");
  expect_unread("conv", "input_scales", {0.0}, "input scale is 0");
  expect_unread("conv", "input_scales", {-1.0}, "input scale is -1");
  expect_unread("conv", "input_scales", {1e-45F}, "input scale is");  // its inverse is infinite
  expect_unread("attention", "input_scales", {1.0}, "fp8 with 1 input scales, 3 are needed");
  expect_unread("wide", "input_scales", {1.0}, "'input_scales' is not known");
  expect_unread("wide", "precision", "fp8", "has no 'input_scales'");
  expect_unread("mean", "precision", "fp16", "mean cannot be fp16");
  expect_unread("attention", "precision", "nvfp4", "'input_scales' is not known");
  expect_unread("q", "role", "none", "'role' needs to be a known role");
  expect_unread("q", "role", "mlp", "'role' needs to be a known role");
  expect_unread("q", "role", 3, "'role' needs to be a string");
}

TEST(ScaledPrecision, NoSingleFieldCanDoHarm) {
  expect_no_field_does_harm(scaled_graph(), {nullptr, true, "", "fp8", "nvfp4", -1, 0, 1, 7, 11,
                                             1e308, -0.5, Json::array()});
}

template <typename Break>
void expect_refused(const Break& break_it, const std::string& words) {
  expect_refused(scaled_graph(), break_it, words);
}

Value& input_of(Graph& graph, const std::string& node, std::size_t input) {
  return graph.values[node_named(graph, node).inputs[input]];
}

TEST(ScaledPrecision, VerifyHoldsFp8Together) {
  expect_refused([](Graph& g) { node_named(g, "conv").inputs.pop_back(); }, "no weight scales");
  expect_refused([](Graph& g) { node_named(g, "conv").input_quantization.scale = 2; },
                 "it is fp8, but has an input scale, which is for int8");
  expect_refused(
      [](Graph& g) { input_of(g, "conv", 1).constant = make_constant(std::vector<float>(162)); },
      "'conv.weight' is F32 and not F8_E4M3");
  for (const std::byte nan : {std::byte{0x7F}, std::byte{0xFF}}) {
    expect_refused(
        [&](Graph& g) {
          std::vector<std::byte> codes(162, std::byte{0x38});
          codes[77] = nan;
          input_of(g, "conv", 1).constant = make_constant(DType::f8_e4m3, codes);
        },
        "'conv.weight' holds NaN");
  }
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), 1e-45F}) {
    expect_refused(
        [&](Graph& g) {
          input_of(g, "conv", 4).constant = make_constant(std::vector<float>{1, 1, 1, 1, 1, scale});
        },
        "'conv.scales' hold");
  }
  expect_refused(
      [](Graph& g) {
        input_of(g, "conv", 4).dims = {6, 2};  // as nvfp4's blocks would be
        input_of(g, "conv", 4).constant = make_constant(std::vector<float>(12, 1.0F));
      },
      "'conv.scales' are [6, 2], [6] or [1] is needed");
  expect_refused([](Graph& g) { input_of(g, "conv", 4).dims = {3, 2}; }, "conv");
  expect_refused(
      [](Graph& g) {
        node_named(g, "q").inputs.push_back(node_named(g, "head").inputs[kTensorScaleInput]);
      },
      "it is fp8, but has a tensor scale");
}

TEST(ScaledPrecision, VerifyHoldsNvfp4Together) {
  expect_refused([](Graph& g) { node_named(g, "head").inputs.pop_back(); }, "no tensor scale");
  expect_refused([](Graph& g) { node_named(g, "head").inputs[kWeightScaleInput] = kNone; },
                 "no weight scales");
  expect_refused([](Graph& g) { node_named(g, "head").precision = Precision::fp32; },
                 "'head.weight' is F4, which only an nvfp4 node's weight may be");
  expect_refused([](Graph& g) { node_named(g, "head").input_scales = {1.0F}; },
                 "it is nvfp4 with 1 input scales, 0 are needed");
  expect_refused(
      [](Graph& g) {
        input_of(g, "head", 1).constant = make_constant(DType::f4, std::vector<std::byte>(7));
      },
      "'head.weight' holds 7 bytes, [3, 5] of F4 need 8");
  expect_refused(
      [](Graph& g) {
        input_of(g, "head", 4).constant = make_constant(std::vector<float>(3, 1.0F));
      },
      "'head.block_scales' is F32 and not F8_E4M3");
  expect_refused(
      [](Graph& g) {
        const std::vector<std::byte> codes{std::byte{0x38}, std::byte{0x7F}, std::byte{0x38}};
        input_of(g, "head", 4).constant = make_constant(DType::f8_e4m3, codes);
      },
      "'head.block_scales' hold nan");
  expect_refused(
      [](Graph& g) {
        const std::vector<std::byte> codes{std::byte{0x38}, std::byte{0xB8}, std::byte{0x38}};
        input_of(g, "head", 4).constant = make_constant(DType::f8_e4m3, codes);
      },
      "'head.block_scales' hold -1");
  expect_refused([](Graph& g) { input_of(g, "head", 4).dims = {3}; },
                 "'head.block_scales' are [3]");
  expect_refused([](Graph& g) { input_of(g, "narrow", 4).dims = {10}; }, "the weight's scales");
  expect_refused(
      [](Graph& g) { input_of(g, "head", 5).constant = make_constant(std::vector<float>{0}); },
      "hold 0; a scale is above 0");
  expect_refused(
      [](Graph& g) {
        g.values.push_back({"stray", {3}, make_constant(DType::f4, std::vector<std::byte>(2))});
      },
      "'stray' is F4, but is no node's weight");
  expect_refused(
      [](Graph& g) { node_named(g, "wide").inputs[2] = node_named(g, "head").inputs[1]; }, "wide");
}

TEST(ScaledPrecision, VerifyHoldsFp16Together) {
  expect_refused(
      [](Graph& g) {
        node_named(g, "wide").inputs.resize(4, kNone);
        node_named(g, "wide").inputs.push_back(node_named(g, "q").inputs[kWeightScaleInput]);
      },
      "it is fp16, but has weight scales");
  expect_refused(
      [](Graph& g) {
        node_named(g, "wide").inputs.resize(5, kNone);
        node_named(g, "wide").inputs.push_back(node_named(g, "head").inputs[kTensorScaleInput]);
      },
      "it is fp16, but has a tensor scale");
  expect_refused([](Graph& g) { node_named(g, "wide").input_scales = {1.0F}; },
                 "it is fp16 with 1 input scales");
}

TEST(FakeQuantizeShape, RefusesScalesAndZeroPointsThatLie) {
  const auto message_of = [](NumberFormat format, double scale, int zero_point) {
    return error_of([&] {
             Toy toy(2, 2);
             toy.node("rounded", FakeQuantize{format, scale, zero_point}, {toy.input()});
           })
        .second;
  };
  using testing::HasSubstr;
  EXPECT_EQ(message_of(NumberFormat::e4m3, 0.5, 0), "");
  EXPECT_EQ(message_of(NumberFormat::affine_u8, 0.5, 255), "");
  EXPECT_EQ(message_of(NumberFormat::bf16, 1.0, 0), "");
  for (const double scale :
       {0.0, -1.0, 0.1, 1e-45, 1e39, 1e300, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(message_of(NumberFormat::e4m3, scale, 0), HasSubstr("a number of fp32 above 0"));
  }
  EXPECT_THAT(message_of(NumberFormat::fp16, 0.5, 0), HasSubstr("scale 0.5 is not 1"));
  EXPECT_THAT(message_of(NumberFormat::bf16, 2.0, 0), HasSubstr("scale 2 is not 1"));
  EXPECT_THAT(message_of(NumberFormat::e4m3, 1.0, 1), HasSubstr("zero point 1 is not 0"));
  EXPECT_THAT(message_of(NumberFormat::affine_u8, 1.0, 256), HasSubstr("zero point 256"));
  EXPECT_THAT(message_of(NumberFormat::affine_u8, 1.0, -1), HasSubstr("zero point -1"));
}

}  // namespace
}  // namespace assay::graph
