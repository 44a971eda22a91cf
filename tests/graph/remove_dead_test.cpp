#include <gtest/gtest.h>

#include "graph/passes.h"
#include "graph/toy.h"

namespace assay::graph {
namespace {

TEST(RemoveDead, KeepsWhatOutputsNeed) {
  Toy toy(4, 4);
  const ValueId unused = toy.conv("unused", toy.input(), 7);
  toy.node("unused_too", Activate{Activation::gelu}, {unused});
  const ValueId kept = toy.conv("kept", toy.input(), 3);
  toy.graph().outputs.push_back({"features", toy.node("mean", Mean{{0, 1}}, {kept})});
  Graph graph = toy.finish(toy.node("act", Activate{Activation::silu}, {kept}));
  const std::vector<float> before = logits_of(graph);
  remove_dead(graph);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.values.size(), 5U);  // input, weight and three results
  EXPECT_EQ(graph.value(graph.output("features")).name, "mean");
  EXPECT_EQ(logits_of(graph), before);
}

TEST(RemoveDead, TheInputStays) {
  Toy toy(4, 4);
  const ValueId constant = toy.node("r", Reshape{{6}}, {toy.constant("c", {2, 3})});
  Graph graph = toy.finish(constant);
  remove_dead(graph);
  verify(graph);
  EXPECT_EQ(graph.value(graph.input).name, "input");
}

}  // namespace
}  // namespace assay::graph
