#include "graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/toy.h"

namespace assay::graph {
namespace {

void add(checkpoint::Weights& weights, const std::string& name, Dims shape,
         DType dtype = DType::f32) {
  const auto zeros = std::make_shared<const std::vector<std::byte>>(1 << 16);
  const auto bytes = static_cast<std::size_t>(elements(shape) * size_in_bits(dtype) / 8);
  weights.add({name, dtype, std::move(shape), std::span(*zeros).first(bytes), zeros});
}

/// stem: conv and norm; head: linear.
Graph build(const checkpoint::Weights& weights) {
  Builder builder("net", weights);
  builder.ignore_suffix(".num_batches_tracked");
  const Scope root = builder.root();
  const Scope stem = root / "stem" / 0;
  ValueId x = builder.input(8, 8);
  x = (stem / "conv").conv2d(x, {.out_channels = 4, .kernel = 3, .stride = 2});
  x = stem.activate((stem / "bn").batch_norm(x), Activation::silu);
  x = root.mean(x, {0, 1});
  x = root.add(x, root.parameter("token", {4}));
  builder.output("logits", root.scale((root / "head").linear(x, 2), 0.5));
  return builder.finish();
}

checkpoint::Weights good_weights() {
  checkpoint::Weights weights;
  add(weights, "stem.0.conv.weight", {4, 3, 3, 3}, DType::f16);
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    add(weights, std::string("stem.0.bn.") + name, {4});
  }
  add(weights, "stem.0.bn.num_batches_tracked", {}, DType::i64);
  add(weights, "token", {1, 1, 4});
  add(weights, "head.weight", {2, 4}, DType::bf16);
  add(weights, "head.bias", {2});
  return weights;
}

TEST(Builder, NamesNodesAfterTheirScopes) {
  const checkpoint::Weights weights = good_weights();
  const Graph graph = build(weights);
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name);
  EXPECT_THAT(names, testing::ElementsAre("stem.0.conv", "stem.0.bn", "stem.0.activate", "mean",
                                          "add", "head", "mul"));
  EXPECT_EQ(graph.value(graph.nodes[0].output).dims, (Dims{4, 4, 4}));
  EXPECT_EQ(graph.value(graph.nodes[0].inputs[1]).name, "stem.0.conv.weight");
}

TEST(Builder, KeepsTheStoredTypeAndBytes) {
  const checkpoint::Weights weights = good_weights();
  const Graph graph = build(weights);
  const Constant& weight = *graph.value(graph.nodes[0].inputs[1]).constant;
  EXPECT_EQ(weight.dtype, DType::f16);
  EXPECT_EQ(weight.bytes.data(), weights.find("stem.0.conv.weight")->bytes.data());
}

TEST(Builder, ListsEverythingThatIsWrongAtOnce) {
  checkpoint::Weights weights;
  add(weights, "stem.0.conv.weight", {4, 3, 5, 5});
  add(weights, "stem.0.bn.weight", {4}, DType::i32);
  add(weights, "stem.0.bn.running_mean", {4});
  add(weights, "stem.0.bn.running_var", {4});
  add(weights, "token", {2, 4});
  add(weights, "head.weight", {2, 4});
  add(weights, "head.bias", {2});
  add(weights, "tail.weight", {7});
  const auto [kind, message] = error_of([&] { build(weights); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message, testing::HasSubstr("do not fit net"));
  EXPECT_THAT(message, testing::HasSubstr("missing (1):\n    stem.0.bn.bias [4]"));
  EXPECT_THAT(message, testing::HasSubstr("(3):\n    stem.0.conv.weight is [4, 3, 5, 5], needs "
                                          "[4, 3, 3, 3]"));
  EXPECT_THAT(message, testing::HasSubstr("stem.0.bn.weight has type I32"));
  EXPECT_THAT(message, testing::HasSubstr("token is [2, 4], needs [4]"));
  EXPECT_THAT(message,
              testing::HasSubstr("not part of the architecture (1):\n    tail.weight [7]"));
}

TEST(Builder, AnExtraTensorAloneIsRefused) {
  checkpoint::Weights weights = good_weights();
  add(weights, "stem.0.bn.num_batches", {});
  const auto [kind, message] = error_of([&] { build(weights); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message, testing::HasSubstr("stem.0.bn.num_batches []"));
  EXPECT_THAT(message, testing::Not(testing::HasSubstr("tracked")));
}

TEST(Builder, RepeatedOperatorsOfAScopeAreNumbered) {
  const checkpoint::Weights none;
  Builder builder("net", none);
  const Scope root = builder.root();
  ValueId x = builder.input(4, 4);
  x = root.slice(x, 0, 0, 3);
  x = root.slice(x, 0, 0, 2);
  x = root.scale(root.scale(x, 2.0), 3.0);
  builder.output("logits", x);
  const Graph graph = builder.finish();
  EXPECT_EQ(graph.nodes[1].name, "slice_2");
  EXPECT_EQ(graph.nodes[3].name, "mul_2");
}

TEST(Builder, ATensorMayBeUsedTwice) {
  checkpoint::Weights weights;
  add(weights, "token", {3});
  Builder builder("net", weights);
  const Scope root = builder.root();
  const ValueId token = root.parameter("token", {3});
  EXPECT_EQ(root.parameter("token", {3}), token);
  builder.output("logits", root.add(root.add(builder.input(2, 2), token), token));
  EXPECT_NO_THROW(builder.finish());
}

TEST(Builder, RefusesInputsOutOfRange) {
  const checkpoint::Weights none;
  for (const std::int64_t extent : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    Builder builder("net", none);
    EXPECT_EQ(error_of([&] { builder.input(extent, 4); }).first, ErrorKind::bad_input);
  }
}

TEST(Builder, NamesTheLayerThatAnInputIsTooSmallFor) {
  const checkpoint::Weights none;
  Builder builder("net", none);
  const ValueId x = builder.input(4, 4);
  const auto [kind, message] = error_of(
      [&] { (builder.root() / "stem").conv2d(x, {.out_channels = 4, .kernel = 7, .padding = 0}); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message, testing::HasSubstr("conv2d 'stem'"));
}

}  // namespace
}  // namespace assay::graph
