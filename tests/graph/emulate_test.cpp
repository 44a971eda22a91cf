/// Narrow products written out as fp32 ones: the reference backend's own emulation is what they
/// must equal.
#include "graph/emulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "graph/near.h"
#include "graph/scaled.h"

namespace assay::graph {
namespace {

constexpr std::array kNarrow{Precision::fp16, Precision::bf16, Precision::int8, Precision::fp8,
                             Precision::nvfp4};

/// The way a product is made narrow.
struct Way {
  const char* name;
  void (*make)(Graph& graph, const std::string& node);
  /// Whether what it reads is rounded by a node: at fp16 and nvfp4 it is not.
  bool rounds_input;
};

const std::array<Way, 6> kWays{
    {{"fp16", make_fp16, false},
     {"bf16", make_bf16, true},
     {"int8",
      [](Graph& g, const std::string& n) {
        make_int8(g, n, {0.0078125F, 128});
      },
      true},
     {"fp8, one scale",
      [](Graph& g, const std::string& n) { make_fp8(g, n, Scales::tensor, 0.0021F); }, true},
     {"fp8, a scale a channel",
      [](Graph& g, const std::string& n) { make_fp8(g, n, Scales::channel, 0.0021F); }, true},
     {"nvfp4", make_nvfp4, false}}};

/// Rounded to fp16 first where emulate() leaves the input as it is, so that the reference backend
/// finds nothing to round.
Graph with_fp16_input(Toy& toy, ValueId x, const std::function<ValueId(ValueId)>& product) {
  const ValueId rounded = toy.node("fp16", FakeQuantize{NumberFormat::fp16, 1.0, 0}, {x});
  return toy.finish(product(rounded));
}

void expect_emulated(const Graph& narrow, const Way& way) {
  Graph wide = narrow;
  emulate(wide, kNarrow);
  for (const Node& node : wide.nodes) EXPECT_EQ(node.precision, Precision::fp32);
  EXPECT_EQ(count<FakeQuantize>(wide) - count<FakeQuantize>(narrow), way.rounds_input ? 1 : 0);
  EXPECT_EQ(logits_of(wide), logits_of(narrow)) << way.name;
}

/// Depths that fill blocks, and that do not; odd ones, whose channels begin within a byte.
TEST(Emulate, LinearEqualsTheReference) {
  for (const Way& way : kWays) {
    for (const std::int64_t depth : {1, 15, 16, 17, 32, 37}) {
      Toy toy(1, depth);
      const ValueId flat = toy.node("flat", Reshape{{3, depth}}, {toy.input()});
      Graph graph = with_fp16_input(toy, flat, [&](ValueId x) { return toy.linear("fc", x, 5); });
      way.make(graph, "fc");
      SCOPED_TRACE(testing::Message() << way.name << ", depth " << depth);
      expect_emulated(graph, way);
    }
  }
}

TEST(Emulate, ConvolutionEqualsTheReference) {
  for (const Way& way : kWays) {
    Toy toy(5, 6);
    Graph graph =
        with_fp16_input(toy, toy.input(), [&](ValueId x) { return toy.conv("conv", x, 7, true); });
    way.make(graph, "conv");
    SCOPED_TRACE(way.name);
    expect_emulated(graph, way);
  }
}

TEST(Emulate, KeepsBiasActivationResidualAndRole) {
  Toy toy(4, 4);
  const ValueId x = toy.conv("first", toy.input(), 3);
  Conv2d op;
  op.padding = {1, 1};
  op.activation = Activation::silu;
  Graph graph = toy.finish(toy.node(
      "conv", op, {x, toy.constant("w", {3, 3, 3, 3}), toy.constant("b", {3}), toy.input()}));
  make_fp8(graph, "conv", Scales::channel, 0.01F);
  node_named(graph, "conv").role = Role::project;
  Graph wide = graph;
  emulate(wide, kNarrow);
  const Node& conv = node_named(wide, "conv");
  EXPECT_EQ(conv.role, Role::project);
  EXPECT_TRUE(conv.input_scales.empty());
  EXPECT_EQ(conv.inputs.size(), 4U);
  EXPECT_EQ(logits_of(wide), logits_of(graph));
}

/// Nothing but the precisions that were asked for is touched.
TEST(Emulate, LeavesOtherPrecisionsAlone) {
  const Graph graph = scaled_graph();
  Graph wide = graph;
  emulate(wide, std::array{Precision::fp8});
  EXPECT_EQ(node_named(wide, "wide").precision, Precision::fp16);
  EXPECT_EQ(node_named(wide, "head").precision, Precision::nvfp4);
  EXPECT_EQ(node_named(wide, "conv").precision, Precision::fp32);
  EXPECT_EQ(node_named(wide, "attention").precision, Precision::fp8);  // rounds within
  EXPECT_EQ(node_named(wide, "attention").input_scales.size(), 3U);
  EXPECT_EQ(logits_of(wide), logits_of(graph));
  emulate(wide, kNarrow);
  EXPECT_EQ(node_named(wide, "head").precision, Precision::fp32);
}

/// Only the rounding of attention's operands and probabilities to fp16 is left out: each 2^-11.
TEST(Emulate, TakesFp16AttentionAsStored) {
  Toy toy(3, 4);
  const ValueId tokens = toy.node("tokens", Reshape{{12, 3}}, {toy.input()});
  Graph graph = toy.finish(toy.node("attention", Attention{1, 0.7}, {tokens, tokens, tokens}));
  make_fp16(graph, "attention");
  Graph wide = graph;
  emulate(wide, kNarrow);
  EXPECT_EQ(node_named(wide, "attention").precision, Precision::fp32);
  EXPECT_NE(logits_of(wide), logits_of(graph));
  EXPECT_TRUE(near(logits_of(wide), logits_of(graph), 0x1p-9));
}

TEST(Emulate, RoundsOnceForReadersWithOneScaleAndAgainForOthers) {
  Toy toy(1, 4);
  const ValueId flat = toy.node("flat", Reshape{{2, 6}}, {toy.input()});
  const ValueId a = toy.linear("a", flat, 4);
  const ValueId b = toy.linear("b", flat, 4);
  const ValueId c = toy.linear("c", flat, 4);
  const ValueId sum = toy.node("sum", Add{}, {toy.node("ab", Add{}, {a, b}), c});
  Graph graph = toy.finish(sum);
  make_fp8(graph, "a", Scales::tensor, 0.01F);
  make_fp8(graph, "b", Scales::channel, 0.01F);
  make_fp8(graph, "c", Scales::tensor, 0.02F);
  Graph wide = graph;
  emulate(wide, kNarrow);
  EXPECT_EQ(count<FakeQuantize>(wide), 2);
  EXPECT_EQ(node_named(wide, "a").inputs[0], node_named(wide, "b").inputs[0]);
  EXPECT_NE(node_named(wide, "a").inputs[0], node_named(wide, "c").inputs[0]);
  EXPECT_EQ(logits_of(wide), logits_of(graph));
}

/// One stored weight stands for other numbers at fp16 than at bf16, and for itself at fp32.
TEST(Emulate, ASharedWeightIsWidenedForEachPrecision) {
  Toy toy(1, 4);
  const ValueId flat = toy.node("flat", Reshape{{12}}, {toy.input()});
  const ValueId rounded = toy.node("bf16", FakeQuantize{NumberFormat::bf16, 1.0, 0}, {flat});
  const ValueId weight = toy.constant("weight", {4, 12});
  std::vector<ValueId> parts;
  for (const char* name : {"a", "b", "c", "d"}) {
    parts.push_back(toy.node(name, Linear{}, {rounded, weight}));
  }
  Graph graph = toy.finish(toy.node("all", Concat{0}, parts));
  node_named(graph, "a").precision = Precision::fp16;
  node_named(graph, "b").precision = Precision::bf16;
  node_named(graph, "d").precision = Precision::fp16;
  Graph wide = graph;
  emulate(wide, kNarrow);
  EXPECT_EQ(logits_of(wide), logits_of(graph));
  EXPECT_NE(node_named(wide, "a").inputs[1], node_named(wide, "b").inputs[1]);
  EXPECT_EQ(node_named(wide, "a").inputs[1], node_named(wide, "d").inputs[1]);
  EXPECT_EQ(wide.value(node_named(wide, "c").inputs[1]).name, "weight");
}

TEST(Emulate, NamesThatAreTakenAreLeftToTheirOwners) {
  Toy toy(1, 4);
  const ValueId flat = toy.node("fc.fake_quantize", Reshape{{12}}, {toy.input()});
  Graph graph = toy.finish(toy.linear("fc", flat, 3));
  make_fp8(graph, "fc", Scales::tensor, 0.01F);
  Graph wide = graph;
  emulate(wide, kNarrow);
  EXPECT_EQ(logits_of(wide), logits_of(graph));
}

TEST(Emulate, LeavesNoCodesBehind) {
  Graph graph = scaled_graph();
  emulate(graph, kNarrow);
  for (const Value& value : graph.values) {
    EXPECT_FALSE(value.constant && is_code_type(value.constant->dtype)) << value.name;
    EXPECT_EQ(value.name.find("scale"), std::string::npos) << value.name;
  }
}

/// Every E2M1 code at every block scale, at three tensor scales, against ml_dtypes' numbers.
TEST(WeightNumbers, OfEveryNvfp4CodeAtEveryScale) {
  constexpr std::size_t kScales = 127;  // E4M3 codes that are not negative or NaN
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/golden/number_formats.json";
  const Json golden = parse_json(read_text(path, 1 << 20), path).at("nvfp4").at("decode_sha256");
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  for (std::size_t scale = 0; scale < kScales; ++scale) {
    scales.push_back(static_cast<std::byte>(scale));
    for (unsigned code = 0; code < 16; code += 2) {
      codes.push_back(static_cast<std::byte>(code | (code + 1) << 4));
    }
  }
  for (const auto& [tensor_scale, digest] : golden.items()) {
    Graph graph;
    const auto depth = static_cast<std::int64_t>(kScales * 16);
    graph.values.push_back({"weight", {1, depth}, make_constant(DType::f4, codes)});
    graph.values.push_back({"scales", {1, kScales}, make_constant(DType::f8_e4m3, scales)});
    graph.values.push_back(
        {"tensor", {1}, make_constant(std::vector<float>{std::stof(tensor_scale)})});
    Node node{"fc", Linear{}, {kNone, 0, kNone, kNone, 1, 2}};
    node.precision = Precision::nvfp4;
    const std::vector<float> numbers = weight_numbers(graph, node);
    EXPECT_EQ(sha256_hex(std::as_bytes(std::span(numbers))), digest) << tensor_scale;
  }
}

/// Codes lie without gaps: the second channel of an odd depth begins in the upper half of a byte,
/// and its blocks count from its own first number.
TEST(WeightNumbers, OfOddDepthsWithShortBlocks) {
  Graph graph;
  const std::int64_t depth = 19;
  std::vector<std::byte> codes(19, std::byte{0x22});  // 1, 1
  codes[9] = std::byte{0x42};                         // the last of channel 0, the first of 1: 2
  graph.values.push_back({"weight", {2, depth}, make_constant(DType::f4, codes)});
  const std::vector<std::byte> scales{std::byte{0x38}, std::byte{0x40}, std::byte{0x48},
                                      std::byte{0x50}};  // 1, 2, 4, 8
  graph.values.push_back({"scales", {2, 2}, make_constant(DType::f8_e4m3, scales)});
  graph.values.push_back({"tensor", {1}, make_constant(std::vector<float>{0.5F})});
  Node node{"fc", Linear{}, {kNone, 0, kNone, kNone, 1, 2}};
  node.precision = Precision::nvfp4;
  const std::vector<float> numbers = weight_numbers(graph, node);
  ASSERT_EQ(numbers.size(), 38U);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(numbers[i], 0.5F) << i;
  for (std::size_t i = 16; i < 19; ++i) EXPECT_EQ(numbers[i], 1.0F) << i;
  EXPECT_EQ(numbers[19], 4.0F);
  for (std::size_t i = 20; i < 35; ++i) EXPECT_EQ(numbers[i], 2.0F) << i;
  for (std::size_t i = 35; i < 38; ++i) EXPECT_EQ(numbers[i], 4.0F) << i;
}

}  // namespace
}  // namespace assay::graph
