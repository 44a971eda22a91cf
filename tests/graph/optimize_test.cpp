#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/near.h"
#include "graph/passes.h"
#include "graph/serialize.h"
#include "graph/toy.h"

namespace assay::graph {
namespace {

/// A block with something for every pass.
Graph block() {
  Toy toy(6, 6);
  ValueId x = toy.node("view", Reshape{{6, 6, 4}}, {toy.conv("stem", toy.input(), 4)});
  x = toy.batch_norm("bn", x);
  x = toy.node("act", Activate{Activation::silu}, {x});
  const ValueId twice = toy.node("twice", Add{}, {toy.constant("a", {4}), toy.constant("b", {4})});
  ValueId y = toy.batch_norm("bn2", toy.conv("conv", x, 4));
  y = toy.node("add", Add{}, {y, x});
  y = toy.node("shift", Add{}, {y, twice});
  toy.node("dead", Activate{Activation::gelu}, {y});
  return toy.finish(toy.linear("head", toy.node("pool", Mean{{0, 1}}, {y}), 5));
}

TEST(Optimize, LevelZeroRemovesDeadCodeAlone) {
  Graph graph = block();
  const std::size_t nodes = graph.nodes.size();
  optimize(graph, 0);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), nodes - 1);
}

TEST(Optimize, LevelOneRunsEveryPass) {
  Graph graph = block();
  const std::vector<float> before = logits_of(graph);
  optimize(graph, 1);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), 5U);  // stem, conv, shift, pool, head
  EXPECT_TRUE(near(logits_of(graph), before, kRounding));
}

TEST(Optimize, OneRoundIsEnough) {
  Graph graph = block();
  optimize(graph, 1);
  const std::string once = to_json(graph).dump();
  optimize(graph, 1);
  EXPECT_EQ(to_json(graph).dump(), once);
}

}  // namespace
}  // namespace assay::graph
