#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/toy.h"

namespace assay::graph {
namespace {

/// A node on activations of the given dims; negative leading entries are never used.
struct Operand {
  Dims dims;
  bool constant = false;
};

Dims shape_of(Operator op, const std::vector<Operand>& operands) {
  Graph graph;
  Node node{"layer", std::move(op), {}, kNone};
  for (const Operand& operand : operands) {
    Value value{"v", operand.dims, std::nullopt};
    if (operand.constant) value.constant = Constant{};
    node.inputs.push_back(static_cast<ValueId>(graph.values.size()));
    graph.values.push_back(std::move(value));
  }
  return infer_shape(graph, node);
}

/// The message of a refusal, which names the node and is the caller's fault.
std::string refusal(const Operator& op, const std::vector<Operand>& operands) {
  const auto [kind, message] = error_of([&] { shape_of(op, operands); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message, testing::StartsWith(std::string(operator_name(op)) + " 'layer': "));
  return message;
}

Conv2d conv(std::array<int, 2> stride, std::array<int, 2> padding, std::array<int, 2> dilation,
            int groups) {
  Conv2d op;
  op.stride = stride;
  op.padding = padding;
  op.dilation = dilation;
  op.groups = groups;
  return op;
}

TEST(InferShape, Conv2d) {
  EXPECT_EQ(shape_of(conv({2, 2}, {1, 1}, {1, 1}, 1), {{{7, 8, 4}}, {{5, 4, 3, 3}, true}}),
            (Dims{4, 4, 5}));
  EXPECT_EQ(shape_of(conv({1, 2}, {0, 2}, {2, 1}, 2), {{{9, 8, 4}}, {{6, 2, 3, 2}, true}}),
            (Dims{5, 6, 6}));
  EXPECT_THAT(refusal(Conv2d{}, {{{2, 9, 4}}, {{5, 4, 3, 3}, true}}), testing::HasSubstr("kernel"));
  EXPECT_THAT(refusal(Conv2d{}, {{{9, 9, 5}}, {{5, 4, 3, 3}, true}}), testing::HasSubstr("fit"));
  refusal(conv({0, 1}, {0, 0}, {1, 1}, 1), {{{9, 9, 4}}, {{5, 4, 3, 3}, true}});
  refusal(conv({1, 1}, {-1, 0}, {1, 1}, 1), {{{9, 9, 4}}, {{5, 4, 3, 3}, true}});
  refusal(conv({1, 1}, {0, 0}, {1, 0}, 1), {{{9, 9, 4}}, {{5, 4, 3, 3}, true}});
  refusal(conv({1, 1}, {0, 0}, {1, 1}, 0), {{{9, 9, 4}}, {{5, 4, 3, 3}, true}});
  refusal(conv({1, 1}, {0, 0}, {1, 1}, 2), {{{9, 9, 4}}, {{5, 2, 3, 3}, true}});
  EXPECT_THAT(refusal(Conv2d{}, {{{9, 9, 4}}, {{5, 4, 3, 3}}}), testing::HasSubstr("constant"));
  refusal(Conv2d{}, {{{9, 9, 4}}, {{5, 4, 1, 1}, true}, {{4}, true}});
  refusal(Conv2d{}, {{{9, 9, 4}}, {{5, 4, 1, 1}, true}, {{5}, true}, {{9, 9, 4}}});
  EXPECT_THAT(
      refusal(Conv2d{}, {{{9, 9, 4}}, {{5, 4, 1, 1}, true}, {{5}, true}, {{9, 9, 5}, true}}),
      testing::HasSubstr("residual"));
}

TEST(InferShape, Linear) {
  EXPECT_EQ(shape_of(Linear{}, {{{4, 7, 3}}, {{9, 3}, true}, {{9}, true}, {{4, 7, 9}}}),
            (Dims{4, 7, 9}));
  EXPECT_EQ(shape_of(Linear{}, {{{3}}, {{9, 3}, true}}), Dims{9});
  EXPECT_THAT(refusal(Linear{}, {{{7, 4}}, {{9, 3}, true}}), testing::HasSubstr("[9, 3]"));
  refusal(Linear{}, {{{}}, {{9, 3}, true}});
  refusal(Linear{}, {{{7, 3}}});
}

TEST(InferShape, Normalizations) {
  EXPECT_EQ(shape_of(LayerNorm{1e-6}, {{{4, 5}}, {{5}, true}, {{5}, true}}), (Dims{4, 5}));
  refusal(LayerNorm{1e-6}, {{{4, 5}}, {{4}, true}, {{5}, true}});
  refusal(LayerNorm{0.0}, {{{4, 5}}, {{5}, true}, {{5}, true}});
  refusal(BatchNorm{1e-5}, {{{4, 5}}, {{5}, true}, {{5}, true}});
  const Operand c{{5}, true};
  EXPECT_EQ(shape_of(BatchNorm{1e-5}, {{{2, 4, 5}}, c, c, c, c}), (Dims{2, 4, 5}));
}

TEST(InferShape, Attention) {
  EXPECT_EQ(shape_of(Attention{3, 0.5}, {{{4, 2, 6}}, {{4, 9, 6}}, {{4, 9, 6}}}), (Dims{4, 2, 6}));
  refusal(Attention{4, 0.5}, {{{2, 6}}, {{9, 6}}, {{9, 6}}});
  refusal(Attention{0, 0.5}, {{{2, 6}}, {{9, 6}}, {{9, 6}}});
  refusal(Attention{3, 0.5}, {{{2, 6}}, {{9, 6}}, {{8, 6}}});
  refusal(Attention{3, 0.5}, {{{4, 2, 6}}, {{3, 9, 6}}, {{3, 9, 6}}});
  refusal(Attention{3, -1.0}, {{{2, 6}}, {{9, 6}}, {{9, 6}}});
  refusal(Attention{1, 1.0}, {{{6}}, {{6}}, {{6}}});
}

TEST(InferShape, AddAndMulBroadcastSuffixes) {
  EXPECT_EQ(shape_of(Add{}, {{{2, 3, 4}}, {{3, 4}}}), (Dims{2, 3, 4}));
  EXPECT_EQ(shape_of(Mul{}, {{{4}}, {{2, 3, 4}}}), (Dims{2, 3, 4}));
  EXPECT_EQ(shape_of(Mul{}, {{{2, 3}}, {{}, true}}), (Dims{2, 3}));
  refusal(Add{}, {{{2, 3, 4}}, {{2, 3}}});
  refusal(Add{}, {{{2, 3}}, {{1, 3}}});
}

TEST(InferShape, Movement) {
  EXPECT_EQ(shape_of(Concat{1}, {{{2, 3, 4}}, {{2, 1, 4}}, {{2, 5, 4}}}), (Dims{2, 9, 4}));
  refusal(Concat{1}, {{{2, 3, 4}}, {{2, 3, 5}}});
  refusal(Concat{3}, {{{2, 3, 4}}, {{2, 3, 4}}});
  refusal(Concat{0}, {{{2, 3, 4}}});
  EXPECT_EQ(shape_of(Slice{1, 2, 5}, {{{2, 5}}}), (Dims{2, 3}));
  refusal(Slice{1, 2, 6}, {{{2, 5}}});
  refusal(Slice{1, 3, 3}, {{{2, 5}}});
  refusal(Slice{-1, 0, 1}, {{{2, 5}}});
  EXPECT_EQ(shape_of(Reshape{{6}}, {{{2, 3}}}), Dims{6});
  refusal(Reshape{{7}}, {{{2, 3}}});
  refusal(Reshape{{-2, -3}}, {{{2, 3}}});
  refusal(Reshape{{std::int64_t{1} << 40, std::int64_t{1} << 40}}, {{{2, 3}}});
  EXPECT_EQ(shape_of(Transpose{{2, 0, 1}}, {{{2, 3, 4}}}), (Dims{4, 2, 3}));
  refusal(Transpose{{0, 0, 1}}, {{{2, 3, 4}}});
  refusal(Transpose{{0, 1}}, {{{2, 3, 4}}});
  refusal(Transpose{{0, 1, 3}}, {{{2, 3, 4}}});
}

TEST(InferShape, TheRest) {
  EXPECT_EQ(shape_of(Activate{Activation::gelu}, {{{2, 3}}}), (Dims{2, 3}));
  EXPECT_EQ(shape_of(Softmax{}, {{{2, 3}}}), (Dims{2, 3}));
  refusal(Softmax{}, {{{}}});
  EXPECT_EQ(shape_of(Resize{ResizeMode::bilinear, 5, 6}, {{{2, 3, 4}}}), (Dims{5, 6, 4}));
  refusal(Resize{ResizeMode::bilinear, 0, 6}, {{{2, 3, 4}}});
  refusal(Resize{ResizeMode::bilinear, 5, 6}, {{{2, 3}}});
  EXPECT_EQ(shape_of(Mean{{0, 2}}, {{{2, 3, 4}}}), Dims{3});
  refusal(Mean{{}}, {{{2, 3, 4}}});
  refusal(Mean{{1, 0}}, {{{2, 3, 4}}});
  refusal(Mean{{1, 1}}, {{{2, 3, 4}}});
}

TEST(InferShape, NamesAnInputThatIsNotThere) {
  Graph graph;
  const auto [kind, message] = error_of([&] {
    infer_shape(graph, Node{"layer", Softmax{}, {5}, kNone});
  });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message, testing::HasSubstr("softmax 'layer'"));
}

}  // namespace
}  // namespace assay::graph
