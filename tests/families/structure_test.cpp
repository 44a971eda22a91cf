/// What logits alone would not show: the graph's outputs, its input sizes, and that the passes take
/// away what they should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/error.h"
#include "families/families.h"
#include "families/tables.h"
#include "graph/passes.h"

namespace assay::families {
namespace {

graph::Graph build_zero(const std::string& architecture, std::int64_t height, std::int64_t width,
                        int classes = 1000) {
  const checkpoint::Weights weights = zero_weights(architecture);
  const checkpoint::ModelConfig config = config_of(architecture, classes);
  return build({config, weights, height, width});
}

template <typename Op>
std::vector<const graph::Node*> nodes_of(const graph::Graph& graph) {
  std::vector<const graph::Node*> found;
  for (const graph::Node& node : graph.nodes) {
    if (std::holds_alternative<Op>(node.op)) found.push_back(&node);
  }
  return found;
}

TEST(CrossVit, FeaturesAreBothClassTokens) {
  const graph::Graph graph = build_zero("crossvit_9_240", 240, 240);
  EXPECT_EQ(graph.value(graph.output("features")).dims, graph::Dims{384});
}

TEST(CrossVit, ResizesTheSecondBranchsImageAlone) {
  const graph::Graph graph = build_zero("crossvit_9_240", 240, 240);
  const auto resizes = nodes_of<graph::Resize>(graph);
  ASSERT_EQ(resizes.size(), 1U);
  EXPECT_EQ(std::get<graph::Resize>(resizes[0]->op).mode, graph::ResizeMode::bicubic);
  EXPECT_EQ(graph.value(resizes[0]->output).dims, (graph::Dims{224, 224, 3}));
}

TEST(CrossVit, AClassTokenAttendsToTheOthersPatchesAndItself) {
  const graph::Graph graph = build_zero("crossvit_9_240", 240, 240);
  for (const graph::Node* attention : nodes_of<graph::Attention>(graph)) {
    if (attention->name.find("fusion") == std::string::npos) continue;
    const std::int64_t others = attention->name.find("fusion.0") != std::string::npos ? 196 : 400;
    EXPECT_EQ(graph.value(attention->inputs[0]).dims[0], 1);
    EXPECT_EQ(graph.value(attention->inputs[1]).dims[0], 1 + others);
  }
}

TEST(CrossVit, AnotherInputSizeDoesNotFitThePositions) {
  try {
    build_zero("crossvit_9_240", 288, 288);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(), testing::HasSubstr("pos_embed_0 is [1, 401, 128], needs [577, 128]"));
  }
}

TEST(MobileVit, FeaturesArePooled) {
  const graph::Graph graph = build_zero("mobilevit_s", 256, 256);
  EXPECT_EQ(graph.value(graph.output("features")).dims, graph::Dims{640});
}

TEST(MobileVit, ResizesOnlyMapsThatThePatchDoesNotDivide) {
  EXPECT_EQ(nodes_of<graph::Resize>(build_zero("mobilevit_s", 256, 256)).size(), 0U);
  // 200 × 232 gives maps of 25 × 29, 13 × 15 and 7 × 8: there and back in each stage.
  EXPECT_EQ(nodes_of<graph::Resize>(build_zero("mobilevit_s", 200, 232)).size(), 6U);
}

TEST(MobileVit, TheSmallestImageStillGivesLogits) {
  const graph::Graph graph = build_zero("mobilevit_xxs", 1, 1);
  EXPECT_EQ(graph.value(graph.output("logits")).dims, graph::Dims{1000});
}

TEST(Heads, AnotherNumberOfClassesNeedsAnotherHead) {
  try {
    build_zero("mobilevit_xxs", 256, 256, 10);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("head.fc.weight is [1000, 320], needs [10, 320]"));
  }
}

TEST(Passes, LeaveNoBatchNormNorFusableAddition) {
  for (const std::string architecture : {"crossvit_9_240", "mobilevit_xxs"}) {
    graph::Graph graph = build_zero(architecture, 240, 240);
    graph::optimize(graph, 1);
    graph::verify(graph);
    EXPECT_EQ(nodes_of<graph::BatchNorm>(graph).size(), 0U);
    // Activations left alone: GELU behind CrossViT's norms of class tokens, four in each stage.
    EXPECT_EQ(nodes_of<graph::Activate>(graph).size(), architecture == "crossvit_9_240" ? 12U : 0U);
    // Additions left alone: CrossViT's positions.
    EXPECT_EQ(nodes_of<graph::Add>(graph).size(), architecture == "crossvit_9_240" ? 2U : 0U);
  }
}

}  // namespace
}  // namespace assay::families
