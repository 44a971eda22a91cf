#include <gtest/gtest.h>

#include "graph/near.h"
#include "graph/passes.h"
#include "graph/toy.h"

namespace assay::graph {
namespace {

/// Runs the pass and expects the same bits from `nodes` nodes.
void expect_views_gone(Graph graph, std::size_t nodes) {
  const std::vector<float> before = logits_of(graph);
  remove_views(graph);
  verify(graph);
  EXPECT_EQ(graph.nodes.size(), nodes);
  EXPECT_EQ(logits_of(graph), before);
}

TEST(RemoveViews, ReshapesOfReshapes) {
  Toy toy(4, 6);
  const ValueId x = toy.conv("conv", toy.input(), 5);
  const ValueId once = toy.node("once", Reshape{{24, 5}}, {x});
  const ValueId twice = toy.node("twice", Reshape{{5, 24}}, {once});
  expect_views_gone(toy.finish(toy.node("thrice", Reshape{{120}}, {twice})), 2);
}

TEST(RemoveViews, AReshapeBackToTheStart) {
  Toy toy(4, 6);
  const ValueId x = toy.conv("conv", toy.input(), 5);
  const ValueId once = toy.node("once", Reshape{{24, 5}}, {x});
  const ValueId back = toy.node("back", Reshape{{4, 6, 5}}, {once});
  expect_views_gone(toy.finish(toy.node("act", Activate{Activation::silu}, {back})), 2);
}

TEST(RemoveViews, SlicesOfSlices) {
  Toy toy(9, 4);
  const ValueId x = toy.conv("conv", toy.input(), 2);
  const ValueId outer = toy.node("outer", Slice{0, 2, 8}, {x});
  const ValueId inner = toy.node("inner", Slice{0, 1, 3}, {outer});
  expect_views_gone(toy.finish(toy.node("whole", Slice{1, 0, 4}, {inner})), 2);
}

TEST(RemoveViews, SlicesOfDifferentAxesStay) {
  Toy toy(9, 4);
  const ValueId outer = toy.node("outer", Slice{0, 2, 8}, {toy.input()});
  expect_views_gone(toy.finish(toy.node("inner", Slice{1, 1, 3}, {outer})), 2);
}

TEST(RemoveViews, ASliceOfOnePartOfAConcatenation) {
  Toy toy(4, 6);
  const ValueId a = toy.conv("a", toy.input(), 2);
  const ValueId b = toy.conv("b", toy.input(), 5);
  const ValueId joined = toy.node("joined", Concat{2}, {a, b});
  expect_views_gone(toy.finish(toy.node("part", Slice{2, 3, 6}, {joined})), 2);
}

TEST(RemoveViews, TheWholeOfOnePart) {
  Toy toy(4, 6);
  const ValueId a = toy.conv("a", toy.input(), 2);
  const ValueId joined = toy.node("joined", Concat{2}, {toy.conv("b", toy.input(), 5), a});
  expect_views_gone(toy.finish(toy.node("part", Slice{2, 5, 7}, {joined})), 1);
}

TEST(RemoveViews, ASliceAcrossPartsStays) {
  Toy toy(4, 6);
  const ValueId a = toy.conv("a", toy.input(), 2);
  const ValueId joined = toy.node("joined", Concat{2}, {a, toy.input()});
  expect_views_gone(toy.finish(toy.node("part", Slice{2, 1, 3}, {joined})), 3);
}

TEST(RemoveViews, TransposesOfTransposes) {
  Toy toy(4, 6);
  const ValueId x = toy.conv("conv", toy.input(), 5);
  const ValueId once = toy.node("once", Transpose{{1, 2, 0}}, {x});
  expect_views_gone(toy.finish(toy.node("twice", Transpose{{0, 2, 1}}, {once})), 2);
}

TEST(RemoveViews, ATransposeThatIsUndone) {
  Toy toy(4, 6);
  const ValueId x = toy.conv("conv", toy.input(), 5);
  const ValueId once = toy.node("once", Transpose{{1, 2, 0}}, {x});
  expect_views_gone(toy.finish(toy.node("back", Transpose{{2, 0, 1}}, {once})), 1);
}

TEST(RemoveViews, ATransposeOfEqualExtentsStays) {
  Toy toy(4, 4);
  expect_views_gone(toy.finish(toy.node("turned", Transpose{{1, 0, 2}}, {toy.input()})), 1);
}

TEST(RemoveViews, AResizeToTheSameSize) {
  Toy toy(4, 6);
  const ValueId x = toy.conv("conv", toy.input(), 5);
  const ValueId same = toy.node("same", Resize{ResizeMode::bicubic, 4, 6}, {x});
  expect_views_gone(toy.finish(toy.node("act", Activate{Activation::silu}, {same})), 2);
}

TEST(RemoveViews, AnOutputStaysComputed) {
  Toy toy(4, 6);
  expect_views_gone(toy.finish(toy.node("whole", Slice{0, 0, 4}, {toy.input()})), 1);
}

}  // namespace
}  // namespace assay::graph
