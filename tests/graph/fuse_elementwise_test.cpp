#include <gtest/gtest.h>

#include "graph/near.h"
#include "graph/passes.h"
#include "graph/toy.h"

namespace assay::graph {
namespace {

TEST(FuseElementwise, TakesActivationThenResidual) {
  Toy toy(4, 5);
  const ValueId x = toy.conv("x", toy.input(), 3);
  const ValueId active = toy.node("act", Activate{Activation::silu}, {toy.conv("conv", x, 3)});
  Graph graph = toy.finish(toy.node("add", Add{}, {x, active}));
  const std::vector<float> before = logits_of(graph);
  fuse_elementwise(graph);
  verify(graph);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[1].name, "conv");
  EXPECT_EQ(std::get<Conv2d>(graph.nodes[1].op).activation, Activation::silu);
  EXPECT_EQ(graph.value(graph.nodes[1].output).name, "add");
  EXPECT_TRUE(near(logits_of(graph), before, kRounding));
}

TEST(FuseElementwise, WorksForLinear) {
  Toy toy(2, 2);
  const ValueId x = toy.node("tokens", Reshape{{4, 3}}, {toy.input()});
  const ValueId gelu = toy.node("act", Activate{Activation::gelu}, {toy.linear("fc1", x, 8)});
  Graph graph = toy.finish(toy.node("add", Add{}, {toy.linear("fc2", gelu, 3), x}));
  const std::vector<float> before = logits_of(graph);
  fuse_elementwise(graph);
  verify(graph);
  EXPECT_EQ(count<Activate>(graph) + count<Add>(graph), 0);
  EXPECT_TRUE(near(logits_of(graph), before, kRounding));
}

TEST(FuseElementwise, AnActivationBehindAResidualStays) {
  Toy toy(4, 4);
  const ValueId sum = toy.node("add", Add{}, {toy.conv("conv", toy.input(), 3), toy.input()});
  Graph graph = toy.finish(toy.node("act", Activate{Activation::gelu}, {sum}));
  const std::vector<float> before = logits_of(graph);
  fuse_elementwise(graph);
  verify(graph);
  EXPECT_EQ(count<Activate>(graph), 1);
  EXPECT_EQ(count<Add>(graph), 0);
  EXPECT_TRUE(near(logits_of(graph), before, kRounding));
}

TEST(FuseElementwise, TheResidualMayBeComputedLater) {
  Toy toy(4, 4);
  const ValueId conv = toy.conv("conv", toy.input(), 3);
  const ValueId late = toy.node("late", Activate{Activation::silu}, {toy.input()});
  Graph graph = toy.finish(toy.node("add", Add{}, {conv, late}));
  const std::vector<float> before = logits_of(graph);
  fuse_elementwise(graph);
  verify(graph);  // the convolution has moved behind what it reads
  EXPECT_EQ(count<Add>(graph), 0);
  EXPECT_TRUE(near(logits_of(graph), before, kRounding));
}

TEST(FuseElementwise, LeavesWhatIsReadElsewhere) {
  Toy toy(4, 4);
  const ValueId conv = toy.conv("conv", toy.input(), 3);
  const ValueId active = toy.node("act", Activate{Activation::silu}, {conv});
  Graph graph = toy.finish(toy.node("mul", Mul{}, {active, conv}));
  fuse_elementwise(graph);
  verify(graph);
  EXPECT_EQ(count<Activate>(graph), 1);
}

TEST(FuseElementwise, LeavesBroadcastsAndConstants) {
  Toy toy(4, 4);
  const ValueId conv = toy.conv("conv", toy.input(), 3);
  const ValueId biased = toy.node("add", Add{}, {conv, toy.constant("b", {3})});
  const ValueId again = toy.conv("again", biased, 3);
  Graph graph = toy.finish(toy.node("add2", Add{}, {again, toy.constant("c", {4, 4, 3})}));
  fuse_elementwise(graph);
  verify(graph);
  EXPECT_EQ(count<Add>(graph), 2);
}

TEST(FuseElementwise, LeavesASumOfAValueWithItself) {
  Toy toy(4, 4);
  const ValueId conv = toy.conv("conv", toy.input(), 3);
  Graph graph = toy.finish(toy.node("add", Add{}, {conv, conv}));
  fuse_elementwise(graph);
  verify(graph);
  EXPECT_EQ(count<Add>(graph), 1);
}

}  // namespace
}  // namespace assay::graph
