/// The reference backend's plan and session; its operators are tested in tests/graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "backend/backend.h"
#include "backend/reference/memory.h"
#include "graph/toy.h"

namespace assay::backend {
namespace {

using graph::error_of;
using graph::Toy;
using graph::ValueId;

/// 4 × 4 pixels to two logits and three features.
std::shared_ptr<const graph::Graph> small_graph() {
  Toy toy(4, 4);
  ValueId x = toy.conv("conv", toy.input(), 3);
  x = toy.node("add", graph::Add{}, {x, toy.input()});
  x = toy.node("mean", graph::Mean{{0, 1}}, {x});
  toy.graph().outputs.push_back({"features", x});
  return std::make_shared<const graph::Graph>(toy.finish(toy.linear("head", x, 2)));
}

std::unique_ptr<Plan> small_plan(int max_batch, const Normalization& normalization = {}) {
  LowerOptions options;
  options.max_batch = max_batch;
  options.normalization = normalization;
  return lower(small_graph(), {"reference", 0}, options);
}

std::vector<float> random_images(int batch) {
  std::mt19937 random{3};
  std::uniform_real_distribution<float> spread(-1.0F, 1.0F);
  std::vector<float> images(static_cast<std::size_t>(batch) * 48);
  for (float& number : images) number = spread(random);
  return images;
}

TEST(Reference, ABatchGivesWhatItsImagesGive) {
  const auto plan = small_plan(3);
  const auto session = plan->make_session();
  const std::vector<float> images = random_images(3);
  std::vector<float> logits(6);
  std::vector<float> features(9);
  session->run({{}, images}, 3, {logits, features});
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<float> one(2);
    std::vector<float> its(3);
    session->run({{}, std::span(images).subspan(48 * i, 48)}, 1, {one, its});
    EXPECT_EQ(one, std::vector<float>(logits.begin() + 2 * i, logits.begin() + 2 * i + 2));
    EXPECT_EQ(its, std::vector<float>(features.begin() + 3 * i, features.begin() + 3 * i + 3));
  }
}

TEST(Reference, PixelsAreNormalizedInFp32) {
  const Normalization normalization{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  std::vector<std::uint8_t> pixels(48);
  std::vector<float> tensor(48);
  for (std::size_t i = 0; i < 48; ++i) {
    pixels[i] = static_cast<std::uint8_t>(5 * i);
    const float scaled = static_cast<float>(pixels[i]) / 255.0F;
    tensor[i] = (scaled - normalization.mean[i % 3]) / normalization.std[i % 3];
  }
  std::vector<float> from_pixels(2);
  std::vector<float> from_tensor(2);
  small_plan(1, normalization)->make_session()->run({pixels, {}}, 1, {from_pixels, {}});
  small_plan(1)->make_session()->run({{}, tensor}, 1, {from_tensor, {}});
  EXPECT_EQ(from_pixels, from_tensor);
}

TEST(Reference, TraceShowsEveryValueInOrder) {
  const auto plan = small_plan(2);
  const auto session = plan->make_session();
  std::vector<std::string> names;
  std::vector<float> last;
  session->trace({{}, random_images(2)}, 2,
                 [&](const graph::Value& value, int batch, std::span<const float> numbers) {
                   names.push_back(value.name);
                   EXPECT_EQ(batch, 2);
                   EXPECT_EQ(numbers.size(),
                             static_cast<std::size_t>(2 * graph::elements(value.dims)));
                   last.assign(numbers.begin(), numbers.end());
                 });
  EXPECT_THAT(names, testing::ElementsAre("conv", "add", "mean", "head"));
  std::vector<float> logits(4);
  session->run({{}, random_images(2)}, 2, {logits, {}});
  EXPECT_EQ(last, logits);
}

TEST(Reference, ProfileAddsUp) {
  const auto plan = small_plan(1);
  std::vector<double> seconds(plan->steps().size(), 1.0);
  plan->make_session()->profile({{}, random_images(1)}, 1, seconds);
  for (const double time : seconds) EXPECT_GE(time, 1.0);
  EXPECT_EQ(error_of([&] {
              plan->make_session()->profile({{}, random_images(1)}, 1, std::span(seconds).first(1));
            }).first,
            ErrorKind::bad_input);
}

TEST(Reference, StepsSayWhatTheyCost) {
  const auto plan = small_plan(1);
  const auto steps = plan->steps();
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].operation, "conv2d");
  EXPECT_EQ(steps[0].flops, 2U * 4 * 4 * 3 * 3 * 9);
  EXPECT_EQ(steps[0].weight_bytes, 3U * 3 * 9 * 4);
  EXPECT_EQ(steps[3].flops, 2U * 2 * 3);
  EXPECT_EQ(steps[3].weight_bytes, (6U + 2) * 4);
  EXPECT_EQ(steps[1].flops, 0U);
  EXPECT_EQ(plan->description(), "reference, 1 thread");
}

TEST(Reference, RefusesSpansOfTheWrongSize) {
  const auto plan = small_plan(2);
  const auto session = plan->make_session();
  const std::vector<float> images = random_images(3);
  const std::vector<std::uint8_t> pixels(48);
  std::vector<float> room(64);
  const auto refused = [&](const Input& input, int batch, const Results& results) {
    EXPECT_EQ(error_of([&] { session->run(input, batch, results); }).first, ErrorKind::bad_input);
  };
  const std::span<const float> one = std::span(images).first(48);
  const std::span<float> logits = std::span(room).first(2);
  refused({{}, images}, 3, {std::span(room).first(6), {}});  // more than the largest batch
  refused({{}, one}, 0, {logits, {}});
  refused({{}, one}, 2, {std::span(room).first(4), {}});
  refused({{}, one.first(47)}, 1, {logits, {}});
  refused({{}, {}}, 1, {logits, {}});
  refused({pixels, one}, 1, {logits, {}});
  refused({{}, one}, 1, {std::span(room).first(3), {}});
  refused({{}, one}, 1, {logits, std::span(room).first(2)});
}

TEST(Reference, ConstantsStandForEveryImage) {
  Toy toy(2, 2);
  const ValueId made = toy.node("r", graph::Reshape{{2, 2, 3}}, {toy.constant("c", {12})});
  const auto graph = std::make_shared<const graph::Graph>(
      toy.finish(toy.node("add", graph::Add{}, {toy.input(), made})));
  LowerOptions options;
  options.max_batch = 2;
  const std::vector<float> zeros(24);
  std::vector<float> out(24);
  lower(graph, {"reference", 0}, options)->make_session()->run({{}, zeros}, 2, {out, {}});
  const std::vector<float> constant = graph::to_f32(*graph->values[1].constant);
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 12), constant);
  EXPECT_EQ(std::vector<float>(out.begin() + 12, out.end()), constant);
}

TEST(ReferenceMemory, ValuesThatAreNeededTogetherLieApart) {
  Toy toy(8, 8);
  ValueId x = toy.conv("first", toy.input(), 5);
  const ValueId skip = x;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t channels = i == 5 ? 5 : 3 + i;
    x = toy.conv("conv" + std::to_string(i), x, channels);
  }
  const graph::Graph graph = toy.finish(toy.node("add", graph::Add{}, {x, skip}));
  const reference::MemoryLayout layout = reference::lay_out(graph);

  std::size_t all = 0;
  const auto overlap = [&](ValueId a, ValueId b) {
    const auto end = [&](ValueId id) {
      return layout.offset[id] + static_cast<std::size_t>(graph::elements(graph.value(id).dims));
    };
    return layout.offset[a] < end(b) && layout.offset[b] < end(a);
  };
  for (const graph::Node& node : graph.nodes) {
    all += static_cast<std::size_t>(graph::elements(graph.value(node.output).dims));
    EXPECT_LE(layout.offset[node.output], layout.size);
    for (const ValueId id : node.inputs) {
      EXPECT_FALSE(!graph.value(id).constant && overlap(id, node.output)) << node.name;
    }
    EXPECT_FALSE(node.output != skip && overlap(skip, node.output)) << node.name;
  }
  EXPECT_LT(layout.size, all / 2);  // and places are used again
}

}  // namespace
}  // namespace assay::backend
