#include <gtest/gtest.h>

#include "graph/near.h"
#include "graph/passes.h"
#include "graph/toy.h"

namespace assay::graph {
namespace {

TEST(FoldConstants, MovesAndCombinesAsTheReferenceBackendDoes) {
  Toy toy(2, 2);
  const ValueId a = toy.constant("a", {2, 3, 4});
  const ValueId turned = toy.node("turned", Transpose{{2, 0, 1}}, {a});  // [4, 2, 3]
  const ValueId part = toy.node("part", Slice{1, 1, 2}, {turned});       // [4, 1, 3]
  const ValueId joined = toy.node("joined", Concat{1}, {part, turned});  // [4, 3, 3]
  const ValueId flat = toy.node("flat", Reshape{{3, 4, 3}}, {joined});   // [3, 4, 3]
  const ValueId tail = toy.node("tail", Slice{0, 1, 3}, {flat});         // [2, 4, 3]
  const ValueId half = toy.node("half", Slice{1, 2, 4}, {tail});         // [2, 2, 3]
  const ValueId sum = toy.node("sum", Add{}, {toy.constant("b", {3}), half});
  const ValueId scaled = toy.node("scaled", Mul{}, {sum, toy.constant("s", {})});
  Graph graph = toy.finish(toy.node("logits", Add{}, {toy.input(), scaled}));
  const std::vector<float> before = logits_of(graph);
  fold_constants(graph);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(logits_of(graph), before);
}

TEST(FoldConstants, LeavesOtherOperatorsAndOutputs) {
  Toy toy(2, 2);
  const ValueId a = toy.constant("a", {2, 3});
  const ValueId active = toy.node("act", Activate{Activation::gelu}, {a});
  const ValueId out = toy.node("out", Reshape{{6}}, {a});
  toy.graph().outputs.push_back({"features", out});
  const ValueId flat = toy.node("flat", Reshape{{2, 2, 3}}, {toy.input()});
  Graph graph = toy.finish(toy.node("logits", Add{}, {flat, active}));
  const std::vector<float> before = logits_of(graph);
  fold_constants(graph);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(logits_of(graph), before);
}

TEST(FoldConstants, AResidualStaysAnActivation) {
  Toy toy(2, 2);
  const ValueId residual = toy.node("r", Reshape{{2, 2, 3}}, {toy.constant("a", {4, 3})});
  const ValueId weight = toy.constant("w", {3, 3, 1, 1});
  Graph graph = toy.finish(toy.node("conv", Conv2d{}, {toy.input(), weight, kNone, residual}));
  const std::vector<float> before = logits_of(graph);
  fold_constants(graph);
  verify(graph);
  EXPECT_EQ(logits_of(graph), before);
}

}  // namespace
}  // namespace assay::graph
