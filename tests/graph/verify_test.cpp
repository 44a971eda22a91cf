#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/toy.h"

namespace assay::graph {
namespace {

Graph valid() {
  Toy toy(6, 5);
  const ValueId x = toy.conv("conv", toy.input(), 4);
  const ValueId pooled = toy.node("mean", Mean{{0, 1}}, {x});
  return toy.finish(toy.linear("head", pooled, 2));
}

/// Breaks a valid graph and expects verify() to say so in these words.
template <typename Break>
void expect_refused(const Break& break_it, const std::string& words) {
  Graph graph = valid();
  break_it(graph);
  const auto [kind, message] = error_of([&] { verify(graph); });
  EXPECT_EQ(kind, ErrorKind::corrupt);
  EXPECT_THAT(message, testing::HasSubstr(words));
}

TEST(Verify, AcceptsAValidGraph) { EXPECT_NO_THROW(verify(valid())); }

TEST(Verify, Names) {
  expect_refused([](Graph& g) { g.nodes[1].name = g.nodes[0].name; }, "node name 'conv'");
  expect_refused([](Graph& g) { g.nodes[1].name.clear(); }, "node name ''");
  expect_refused([](Graph& g) { g.values[1].name = "input"; }, "value name 'input'");
  expect_refused([](Graph& g) { g.outputs.push_back(g.outputs[0]); }, "output name 'logits'");
  expect_refused([](Graph& g) { g.outputs.clear(); }, "no output");
}

TEST(Verify, Ids) {
  expect_refused([](Graph& g) { g.nodes[0].inputs[0] = 99; }, "input 0 does not exist");
  expect_refused([](Graph& g) { g.nodes[0].inputs[0] = kNone; }, "input 0 does not exist");
  expect_refused([](Graph& g) { g.nodes[1].inputs = {0, kNone, kNone}; }, "mean");
  expect_refused([](Graph& g) { g.nodes[0].output = 99; }, "writes a value");
  expect_refused([](Graph& g) { g.nodes[1].output = g.nodes[0].output; }, "writes a value");
  expect_refused([](Graph& g) { g.nodes[1].output = g.input; }, "writes a value");
  expect_refused([](Graph& g) { g.outputs[0].value = 99; }, "not computed");
  expect_refused([](Graph& g) { g.outputs[0].value = g.input; }, "not computed");
  expect_refused([](Graph& g) { g.outputs[0].value = g.nodes[0].inputs[1]; }, "not computed");
  expect_refused([](Graph& g) { g.input = 99; }, "the input");
  expect_refused([](Graph& g) { g.input = g.nodes[0].inputs[1]; }, "the input");
}

TEST(Verify, Order) {
  expect_refused([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }, "before it is computed");
  expect_refused(
      [](Graph& g) {
        g.values.push_back({"orphan", {1}, std::nullopt});
      },
      "nothing computes the value 'orphan'");
}

TEST(Verify, Shapes) {
  expect_refused([](Graph& g) { g.values[g.nodes[0].output].dims = {6, 5, 5}; }, "conv");
  expect_refused([](Graph& g) { std::get<Mean>(g.nodes[1].op).axes = {0, 3}; }, "axis 3");
  expect_refused([](Graph& g) { g.values[g.input].dims = {6, 5, 4}; }, "[H, W, 3]");
  expect_refused([](Graph& g) { g.values[g.input].dims = {6, 15}; }, "[H, W, 3]");
}

TEST(Verify, Limits) {
  const auto input_of = [](Dims dims) {
    return [dims](Graph& g) { g.values[g.input].dims = dims; };
  };
  expect_refused(input_of({0, 5, 3}), "dimensions are");
  expect_refused(input_of({-1, 5, 3}), "dimensions are");
  expect_refused(input_of({(1 << 24) + 1, 1, 3}), "dimensions are");
  expect_refused(input_of({1 << 24, 1 << 24, 3}), "elements");
  expect_refused(input_of({1, 1, 1, 1, 1, 1, 1, 1, 3}), "rank 9");
}

TEST(Verify, Constants) {
  const auto weight = [](Graph& g) -> Constant& {
    return *g.values[g.nodes[0].inputs[1]].constant;
  };
  expect_refused([&](Graph& g) { weight(g).bytes = weight(g).bytes.first(8); }, "holds 8 bytes");
  expect_refused([&](Graph& g) { weight(g).dtype = DType::f16; }, "bytes");
  expect_refused([&](Graph& g) { weight(g).dtype = DType::i32; }, "floating type");
}

}  // namespace
}  // namespace assay::graph
