/// What the products of an fp32 graph are seen to read.
#include "quant/observe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "graph/narrow.h"

namespace assay::quant {
namespace {

using graph::error_of;
using graph::Toy;
using graph::ValueId;

/// 4 × 4 pixels: a convolution, a depthwise one, two layers that read one value, and a head.
std::shared_ptr<const graph::Graph> toy_graph() {
  Toy toy(4, 4);
  const ValueId x = toy.conv("conv", toy.input(), 4);
  graph::Conv2d depthwise;
  depthwise.groups = 4;
  const ValueId weight = toy.constant("dw.weight", {4, 1, 1, 1});
  const ValueId spread = toy.node("dw", depthwise, {x, weight});
  const ValueId flat = toy.node("flat", graph::Reshape{{16, 4}}, {spread});
  const ValueId q = toy.linear("q", flat, 4);
  const ValueId k = toy.linear("k", flat, 4);
  const ValueId sum = toy.node("sum", graph::Add{}, {q, k});
  const ValueId pooled = toy.node("mean", graph::Mean{{0}}, {sum});
  return std::make_shared<const graph::Graph>(toy.finish(toy.linear("head", pooled, 2)));
}

std::vector<float> image(float first) {
  std::vector<float> numbers(48);
  for (std::size_t i = 0; i < 48; ++i) numbers[i] = first + 0.01F * static_cast<float>(i);
  return numbers;
}

/// The range of a node's input 0 by the reference backend.
Range range_of(const graph::Graph& graph, const std::string& node,
               const std::vector<std::vector<float>>& images) {
  const auto plan =
      backend::lower(std::make_shared<const graph::Graph>(graph), {"reference", 0}, {});
  const std::string wanted = graph.value(graph::find_node(graph, node)->inputs[0]).name;
  Range range{1e30F, -1e30F};
  const auto look = [&](const std::string& name, std::span<const float> numbers) {
    if (name != wanted) return;
    range.low = std::min(range.low, *std::ranges::min_element(numbers));
    range.high = std::max(range.high, *std::ranges::max_element(numbers));
  };
  for (const std::vector<float>& input : images) {
    look("input", input);
    plan->make_session()->trace({{}, input}, 1,
                                [&](const graph::Value& value, int, std::span<const float> seen) {
                                  look(value.name, seen);
                                });
  }
  return range;
}

TEST(MaxObserver, KeepsTheExtremesOfEveryProductsInput) {
  const auto graph = toy_graph();
  const std::vector<std::vector<float>> images{image(-1), image(0.5F)};
  MaxObserver observer(graph, 1);
  for (const auto& input : images) observer.observe(input);
  EXPECT_EQ(observer.images(), 2U);
  std::vector<std::string> names;
  for (const LayerRange& layer : observer.layers()) {
    names.push_back(layer.layer);
    const Range wanted = range_of(*graph, layer.layer, images);
    EXPECT_NEAR(layer.input.low, wanted.low, 1e-5F) << layer.layer;
    EXPECT_NEAR(layer.input.high, wanted.high, 1e-5F) << layer.layer;
  }
  EXPECT_THAT(names, testing::ElementsAre("conv", "q", "k", "head"));
  const auto layers = observer.layers();
  EXPECT_EQ(layers[0].input.low, -1.0F);
  EXPECT_EQ(layers[0].input.high, images[1].back());
  EXPECT_EQ(layers[1].input, layers[2].input);  // they read one value
}

TEST(MaxObserver, SeesAConstantThatAProductReads) {
  Toy toy(2, 2);
  const ValueId token = toy.linear("token", toy.constant("class", {3}), 3);
  const ValueId pooled = toy.node("mean", graph::Mean{{0, 1}}, {toy.input()});
  const auto graph = std::make_shared<const graph::Graph>(
      toy.finish(toy.linear("head", toy.node("add", graph::Add{}, {pooled, token}), 2)));
  MaxObserver observer(graph, 1);
  observer.observe(std::vector<float>(12, 0.5F));
  const std::vector<float> numbers = graph::to_f32(*graph->values[1].constant);
  EXPECT_EQ(observer.layers()[0].input.high, *std::ranges::max_element(numbers));
}

TEST(MaxObserver, RefusesWhatIsNotFinite) {
  MaxObserver observer(toy_graph(), 1);
  std::vector<float> input = image(0);
  input[7] = std::numeric_limits<float>::quiet_NaN();
  const auto [kind, message] = error_of([&] { observer.observe(input); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message, testing::HasSubstr("layer 'conv': its input 'input'"));
  MaxObserver large(toy_graph(), 1);
  EXPECT_THAT(error_of([&] { large.observe(std::vector<float>(48, 3e38F)); }).second,
              testing::HasSubstr("not finite"));
}

TEST(MaxObserver, RefusesNarrowGraphsAndNoImages) {
  const auto narrow = std::make_shared<const graph::Graph>(graph::narrow_graph());
  EXPECT_THAT(error_of([&] { MaxObserver(narrow, 1); }).second,
              testing::HasSubstr("layer 'conv' is int8"));
  const MaxObserver observer(toy_graph(), 1);
  EXPECT_EQ(error_of([&] { (void)observer.layers(); }).first, ErrorKind::bad_input);
}

}  // namespace
}  // namespace assay::quant
