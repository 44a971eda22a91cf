#include <gtest/gtest.h>

#include "graph/near.h"
#include "graph/passes.h"
#include "graph/toy.h"

namespace assay::graph {
namespace {

TEST(FoldBatchNorm, KeepsResultsAndNames) {
  for (const bool bias : {false, true}) {
    Toy toy(5, 6);
    const ValueId normed = toy.batch_norm("bn", toy.conv("conv", toy.input(), 4, bias));
    Graph graph = toy.finish(toy.node("mean", Mean{{0, 1}}, {normed}));
    const std::vector<float> before = logits_of(graph);
    fold_batch_norm(graph);
    verify(graph);
    EXPECT_EQ(count<BatchNorm>(graph), 0);
    EXPECT_NE(find_node(graph, "conv"), nullptr);
    EXPECT_TRUE(near(logits_of(graph), before, kRounding));
  }
}

TEST(FoldBatchNorm, WorksWithGroups) {
  Toy toy(4, 4);
  const ValueId wide = toy.conv("wide", toy.input(), 6);
  Conv2d depthwise;
  depthwise.groups = 6;
  const ValueId conv =
      toy.node("conv", depthwise, {wide, toy.constant("conv.weight", {6, 1, 2, 2})});
  Graph graph = toy.finish(toy.batch_norm("bn", conv));
  const std::vector<float> before = logits_of(graph);
  fold_batch_norm(graph);
  verify(graph);
  EXPECT_EQ(count<BatchNorm>(graph), 0);
  EXPECT_TRUE(near(logits_of(graph), before, kRounding));
}

TEST(FoldBatchNorm, LeavesAConvolutionThatIsReadElsewhere) {
  Toy toy(4, 4);
  const ValueId conv = toy.conv("conv", toy.input(), 3);
  const ValueId sum = toy.node("add", Add{}, {toy.batch_norm("bn", conv), conv});
  Graph graph = toy.finish(sum);
  const std::vector<float> before = logits_of(graph);
  fold_batch_norm(graph);
  verify(graph);
  EXPECT_EQ(count<BatchNorm>(graph), 1);
  EXPECT_EQ(logits_of(graph), before);
}

TEST(FoldBatchNorm, LeavesAConvolutionWithAnActivationOrResidual) {
  Toy toy(4, 4);
  Conv2d op;
  op.activation = Activation::silu;
  const ValueId first = toy.node("first", op, {toy.input(), toy.constant("a", {3, 3, 1, 1})});
  const ValueId bn1 = toy.batch_norm("bn1", first);
  const ValueId second =
      toy.node("second", Conv2d{}, {bn1, toy.constant("b", {3, 3, 1, 1}), kNone, toy.input()});
  Graph graph = toy.finish(toy.batch_norm("bn2", second));
  fold_batch_norm(graph);
  verify(graph);
  EXPECT_EQ(count<BatchNorm>(graph), 2);
}

TEST(FoldBatchNorm, LeavesAConvolutionThatIsAnOutput) {
  Toy toy(4, 4);
  const ValueId conv = toy.conv("conv", toy.input(), 3);
  toy.graph().outputs.push_back({"features", conv});
  Graph graph = toy.finish(toy.batch_norm("bn", conv));
  fold_batch_norm(graph);
  verify(graph);
  EXPECT_EQ(count<BatchNorm>(graph), 1);
}

}  // namespace
}  // namespace assay::graph
