/// What the layers of an fp32 graph are seen to read.
#include "quant/observe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/narrow.h"

namespace assay::quant {
namespace {

using graph::error_of;
using graph::Toy;
using graph::ValueId;

/// 4 × 4 pixels: a convolution, a depthwise one, two layers and attention that read one value, and
/// a head.
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
  const ValueId looked = toy.node("attention", graph::Attention{2, 0.5}, {q, k, flat});
  const ValueId pooled = toy.node("mean", graph::Mean{{0}}, {looked});
  return std::make_shared<const graph::Graph>(toy.finish(toy.linear("head", pooled, 2)));
}

std::vector<std::string> every_observer() {
  const auto names = observers();
  return {names.begin(), names.end()};
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

/// The entry's range by "max".
Range max_of(const OperandStats& stats) { return range_of(stats, "max", Format::int8); }

TEST(Observation, KeepsTheExtremesOfEveryOperand) {
  const auto graph = toy_graph();
  const std::vector<std::vector<float>> images{image(-1), image(0.5F)};
  Observation seen(graph, {"max"});
  for (const auto& input : images) seen.observe(input);
  EXPECT_EQ(seen.images(), 2U);
  std::vector<std::string> names;
  const auto operands = seen.operands();
  for (const OperandStats& stats : operands) {
    names.push_back(stats.layer + " " + stats.operand);
    if (stats.operand != "input") continue;
    const Range wanted = range_of(*graph, stats.layer, images);
    EXPECT_NEAR(max_of(stats).low, wanted.low, 1e-5F) << stats.layer;
    EXPECT_NEAR(max_of(stats).high, wanted.high, 1e-5F) << stats.layer;
  }
  EXPECT_THAT(names, testing::ElementsAre("conv input", "q input", "k input", "attention query",
                                          "attention key", "attention value", "head input"));
  EXPECT_EQ(max_of(operands[0]).low, -1.0F);
  EXPECT_EQ(max_of(operands[0]).high, images[1].back());
  EXPECT_EQ(operands[1].ranges, operands[2].ranges);  // they read one value
  EXPECT_EQ(operands[1].ranges, operands[5].ranges);  // which is attention's value, too
}

TEST(Observation, ChannelsAreThoseOfTheLastAxis) {
  const auto graph = toy_graph();
  Observation seen(graph, {"max"});
  seen.observe(image(-1));
  seen.observe(image(0.5F));
  const auto operands = seen.operands();
  EXPECT_THAT(operands[0].channel_max, testing::IsEmpty());  // a convolution has none
  // 16 pixels at 0.03 from one to the next; the two images' first numbers are -1 and 0.5.
  EXPECT_THAT(operands[0].channel_mean,
              testing::Pointwise(testing::FloatNear(1e-6F), {-0.025F, -0.015F, -0.005F}));
  EXPECT_THAT(operands[1].channel_max, testing::SizeIs(4));
  EXPECT_THAT(operands[1].channel_mean, testing::SizeIs(4));
  const Range range = max_of(operands[1]);
  EXPECT_EQ(*std::ranges::max_element(operands[1].channel_max),
            std::max(std::abs(range.low), std::abs(range.high)));
  for (std::size_t i = 3; i < 6; ++i) {
    EXPECT_THAT(operands[i].channel_max, testing::IsEmpty());
    EXPECT_THAT(operands[i].channel_mean, testing::IsEmpty());
  }
}

TEST(Observation, SeesAConstantThatALayerReads) {
  Toy toy(2, 2);
  const ValueId token = toy.linear("token", toy.constant("class", {3}), 3);
  const ValueId pooled = toy.node("mean", graph::Mean{{0, 1}}, {toy.input()});
  const auto graph = std::make_shared<const graph::Graph>(
      toy.finish(toy.linear("head", toy.node("add", graph::Add{}, {pooled, token}), 2)));
  Observation seen(graph, every_observer());
  for (int i = 0; i < 3; ++i) seen.observe(std::vector<float>(12, 0.5F));
  const std::vector<float> numbers = graph::to_f32(*graph->values[1].constant);
  const OperandStats stats = seen.operands()[0];
  EXPECT_EQ(max_of(stats).high, *std::ranges::max_element(numbers));
  EXPECT_FLOAT_EQ(range_of(stats, "moving_average", Format::int8).high, max_of(stats).high);
  EXPECT_THAT(stats.channel_mean, testing::Pointwise(testing::FloatEq(), numbers));
}

TEST(Observation, MovingAverageByHand) {
  const auto graph = toy_graph();
  Observation seen(graph, {"moving_average"});
  for (const float first : {-1.0F, 0.5F, 2.0F}) seen.observe(image(first));
  const OperandStats stats = seen.operands()[0];
  EXPECT_EQ(stats.ranges.size(), 1U);
  // -1, then 0.9 × -1 + 0.1 × 0.5 = -0.85, then 0.9 × -0.85 + 0.1 × 2 = -0.565; the largest number
  // of an image is 0.47 above the smallest.
  const Range range = range_of(stats, "moving_average", Format::e4m3);
  EXPECT_FLOAT_EQ(range.low, -0.565F);
  EXPECT_NEAR(range.high, -0.095F, 1e-6F);
}

TEST(Observation, HasWhatEachObserverKeeps) {
  Observation seen(toy_graph(), every_observer());
  seen.observe(image(-1));
  for (const OperandStats& stats : seen.operands()) {
    std::vector<std::string> names;
    for (const auto& [name, range] : stats.ranges) {
      names.push_back(name);  // what is clipped comes nearer to 0
      EXPECT_LE(std::min(max_of(stats).low, 0.0F), range.low) << stats.layer << name;
      EXPECT_LE(range.low, range.high) << stats.layer << name;
      EXPECT_LE(range.high, std::max(max_of(stats).high, 0.0F)) << stats.layer << name;
    }
    EXPECT_THAT(names, testing::UnorderedElementsAre("max", "moving_average", "percentile_99.9",
                                                     "percentile_99.99", "percentile_99.999",
                                                     "entropy_int8", "entropy_e4m3", "mse_int8",
                                                     "mse_e4m3"));
  }
}

TEST(Observation, DoesNotDependOnWhichWorkerSawWhat) {
  const auto graph = toy_graph();
  Observation one(graph, every_observer());
  Observation three(graph, every_observer(), 3);
  EXPECT_EQ(three.workers(), 3);
  std::vector<Glimpse> glimpses(7);
  for (int i = 6; i >= 0; --i) {  // seen backwards, taken in forwards
    glimpses[static_cast<std::size_t>(i)] =
        three.look(i * 2 % 3, image(0.3F * static_cast<float>(i)));
  }
  for (int i = 0; i < 7; ++i) {
    one.observe(image(0.3F * static_cast<float>(i)));
    three.add(glimpses[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(one.operands(), three.operands());
}

TEST(Observation, RefusesWhatIsNotFinite) {
  Observation seen(toy_graph(), {"max"});
  std::vector<float> input = image(0);
  input[7] = std::numeric_limits<float>::quiet_NaN();
  const auto [kind, message] = error_of([&] { seen.observe(input); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message,
              testing::HasSubstr("layer 'conv': its input 'input' holds a number that is"));
  Observation infinite(toy_graph(), {"max"});
  input[7] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(error_of([&] { infinite.observe(input); }).second, testing::HasSubstr("not finite"));
  Observation large(toy_graph(), every_observer());
  EXPECT_THAT(error_of([&] { large.observe(std::vector<float>(48, -2e30F)); }).second,
              testing::HasSubstr("holds -2e+30; a calibration holds magnitudes of 1e+30 at most"));
}

TEST(Observation, RefusesWhatItCannotDo) {
  const auto narrow = std::make_shared<const graph::Graph>(graph::narrow_graph());
  EXPECT_THAT(error_of([&] { Observation(narrow, {"max"}); }).second,
              testing::HasSubstr("layer 'conv' is int8"));
  EXPECT_THAT(error_of([&] { Observation(toy_graph(), {"min"}); }).second,
              testing::HasSubstr("no observer 'min'"));
  EXPECT_EQ(error_of([&] { Observation(toy_graph(), {}); }).first, ErrorKind::bad_input);
  const Observation seen(toy_graph(), {"max"});
  EXPECT_EQ(error_of([&] { (void)seen.operands(); }).first, ErrorKind::bad_input);
}

}  // namespace
}  // namespace assay::quant
