/// The cpu backend against the reference backend, value by value.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/one_query_attention.h"
#include "backend/cpu_random_graph.h"
#include "backend/cpu_trace.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;
using graph::Conv2d;
using graph::ValueId;

/// Each value is a few sums of at most a few hundred products of numbers around 1 behind a few more
/// such: an fp32 sum of K terms errs by about sqrt(K) epsilon of its size, and no operator here
/// magnifies an error by more than about ten. So: 200 epsilon of the value's own largest number.
void expect_close(const Trace& want, const Trace& got) {
  ASSERT_FALSE(got.empty());
  for (const auto& [name, numbers] : got) {
    const auto& expected = want.at(name);
    ASSERT_EQ(numbers.size(), expected.size()) << name;
    const float largest = largest_of(expected, 1e-3F);
    const float tolerance = 200 * std::numeric_limits<float>::epsilon() * largest;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_NEAR(numbers[i], expected[i], tolerance) << name << " at " << i;
    }
  }
}

void compare(graph::Graph made) {
  graph::verify(made);
  const auto graph = std::make_shared<const graph::Graph>(std::move(made));
  const Isa before = active_isa();
  for (const int batch : {1, 3}) {
    std::vector<float> input(
        static_cast<std::size_t>(batch * graph::elements(graph->value(graph->input).dims)));
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : input) x = uniform(generator);
    const Trace want = trace_of(graph, "reference", 0, batch, 1, input);
    for (const Isa isa : supported_isas()) {
      use_isa(isa);
      for (const int level : {0, 1}) {
        SCOPED_TRACE(testing::Message() << name(isa) << ", level " << level << ", batch " << batch);
        const Trace alone = trace_of(graph, "cpu", level, batch, 1, input);
        expect_close(want, alone);
        const Trace together = trace_of(graph, "cpu", level, batch, 3, input);
        expect_same_bits(alone, together);
      }
    }
  }
  use_isa(before);
}

/// Whether the cpu backend has a step of `tactic` for the graph, so that a test tests it.
bool lowers_with(const graph::Graph& graph, std::string_view tactic) {
  const auto plan =
      lower(std::make_shared<const graph::Graph>(graph), parse_target("cpu"), LowerOptions());
  return std::ranges::any_of(plan->steps(),
                             [tactic](const StepInfo& step) { return step.tactic == tactic; });
}

TEST(CpuDifferential, Linear) {
  for (const std::int64_t n : {1, 10, 24, 48, 67}) {
    GraphMaker make(static_cast<unsigned>(n));
    const ValueId x = make.linear(make.input({5, 7, 3}), 19, true, Activation::gelu);
    const ValueId y = make.linear(x, n, false, Activation::silu);
    compare(make.finish(make.linear(x, n, true, Activation::none, y)));
  }
}

TEST(CpuDifferential, Convolutions) {
  for (const int kernel : {1, 2, 3, 5}) {
    for (const int stride : {1, 2, 3}) {
      for (const int dilation : {1, 2}) {
        GraphMaker make(static_cast<unsigned>(kernel * 100 + stride * 10 + dilation));
        Conv2d op;
        op.stride = {stride, stride};
        op.padding = {kernel / 2, kernel / 2};
        op.dilation = {dilation, dilation};
        op.activation = Activation::silu;
        const ValueId image = make.input({25, 21, 3});
        const ValueId x = make.conv(image, 8, kernel, op);
        op.groups = 2;
        op.activation = Activation::none;
        const ValueId grouped = make.conv(x, 20, kernel, op, false);
        op.stride = {1, 1};
        op.dilation = {1, 1};
        op.padding = {kernel - 1, kernel - 1};
        compare(make.finish(make.conv(grouped, 6, kernel, op)));
      }
    }
  }
}

TEST(CpuDifferential, UnequalStridesAndPaddings) {
  GraphMaker make(5);
  Conv2d op;
  op.stride = {1, 2};
  op.padding = {0, 2};
  op.dilation = {2, 1};
  compare(make.finish(make.conv(make.input({9, 12, 3}), 17, 3, op)));
}

TEST(CpuDifferential, InvertedResidual) {
  for (const int stride : {1, 2}) {
    GraphMaker make(static_cast<unsigned>(stride));
    const ValueId x = make.conv(make.input({14, 9, 3}), 12, 3,
                                {.padding = {1, 1}, .activation = Activation::silu});
    const ValueId wide = make.conv(x, 40, 1, {.activation = Activation::silu});
    const ValueId deep = make.conv(wide, 40, 3,
                                   {.stride = {stride, stride},
                                    .padding = {1, 1},
                                    .groups = 40,
                                    .activation = Activation::silu});
    compare(make.finish(make.conv(deep, 12, 1, {}, true, stride == 1 ? x : graph::kNone)));
  }
}

/// A part of a concatenation feeds a convolution with a margin, as MobileViT's fusion does.
TEST(CpuDifferential, ConcatenatedChannelsUnderAConvolution) {
  GraphMaker make(11);
  const ValueId image = make.input({8, 10, 3});
  const ValueId shortcut = make.conv(image, 6, 1, {.activation = Activation::silu});
  const ValueId local = make.conv(shortcut, 9, 3, {.padding = {1, 1}});
  const ValueId joined = make.node(graph::Concat{2}, {shortcut, make.conv(local, 6, 1, {})});
  compare(make.finish(make.conv(joined, 7, 3, {.padding = {1, 1}})));
}

TEST(CpuDifferential, ClassTokenInFrontOfPatches) {
  GraphMaker make(12);
  const ValueId image = make.input({12, 16, 3});
  const ValueId patches = make.conv(image, 24, 4, {.stride = {4, 4}});
  const ValueId tokens = make.node(graph::Reshape{{12, 24}}, {patches});
  ValueId x = make.node(graph::Concat{0}, {make.constant({1, 24}), tokens});
  x = make.node(graph::Add{}, {x, make.constant({13, 24})});
  const ValueId first = make.node(graph::Slice{0, 0, 1}, {x});
  const ValueId rest = make.node(graph::Slice{0, 1, 13}, {x});
  const ValueId moved = make.linear(make.layer_norm(first), 24);
  compare(make.finish(make.layer_norm(make.node(graph::Concat{0}, {moved, rest}))));
}

TEST(CpuDifferential, TransformerBlock) {
  for (const std::int64_t width : {12, 36}) compare(transformer_block(width));
}

/// The token is read again behind a step that could write over the concatenation it is a part of.
TEST(CpuDifferential, CrossAttention) {
  GraphMaker make(71);
  const ValueId others =
      make.linear(make.node(graph::Reshape{{40, 3}}, {make.input({5, 8, 3})}), 16);
  const ValueId first = make.node(graph::Slice{0, 0, 1}, {others});
  const ValueId rest = make.node(graph::Slice{0, 1, 40}, {others});
  const ValueId token = make.linear(make.layer_norm(first), 16);
  const ValueId seen = make.layer_norm(make.node(graph::Concat{0}, {token, rest}));
  const ValueId q = make.linear(make.node(graph::Slice{0, 0, 1}, {seen}), 16);
  const ValueId mixed =
      make.node(graph::Attention{2, 0.4}, {q, make.linear(seen, 16), make.linear(seen, 16)});
  const ValueId moved = make.linear(mixed, 16, true, Activation::none, token);
  compare(make.finish(make.node(graph::Concat{0}, {make.linear(moved, 16), rest})));
}

/// Odd tokens, head sizes and widths; keys and values without biases; a query from elsewhere.
TEST(CpuDifferential, OneQueryAttention) {
  for (const std::int64_t tokens : {1, 2, 37}) {
    for (const std::int64_t width : {15, 36}) {
      GraphMaker make(static_cast<unsigned>(100 * tokens + width));
      const ValueId image = make.input({1, tokens, 3});
      const ValueId x =
          make.layer_norm(make.linear(make.node(graph::Reshape{{tokens, 3}}, {image}), 21));
      const ValueId q = make.linear(make.node(graph::Slice{0, 0, 1}, {x}), width);
      const ValueId k = make.linear(x, width, tokens > 1);
      const ValueId v = make.linear(x, width, tokens < 37);
      const ValueId mixed = make.node(graph::Attention{3, 0.3}, {q, k, v});
      const graph::Graph graph = make.finish(make.linear(mixed, 10));
      EXPECT_TRUE(lowers_with(graph, "one query"));
      compare(graph);
    }
  }
}

/// Sizes at which tiles of 4 × 4 and of 2 × 2 outputs reach over the edge; channels that fill no
/// vector; images with and without a margin, and a residual.
TEST(CpuDifferential, WinogradConvolutions) {
  const Conv2d plain{.padding = {1, 1}};
  const Conv2d silu{.padding = {1, 1}, .activation = Activation::silu};
  for (const graph::Dims& size : {graph::Dims{23, 25, 3}, {9, 11, 3}}) {
    GraphMaker make(static_cast<unsigned>(size[0]));
    const ValueId x = make.conv(make.input(size), 37, 1, {});
    const ValueId y = make.conv(x, 41, 3, silu);
    const ValueId z = make.conv(make.node(graph::Activate{Activation::gelu}, {y}), 33, 3, plain,
                                false, make.conv(x, 33, 1, {}));
    const graph::Graph graph =
        make.finish(make.conv(make.node(graph::Concat{2}, {x, z}), 35, 3, silu));
    EXPECT_TRUE(lowers_with(graph, size[0] == 23 ? "winograd 4x4" : "winograd 2x2"));
    compare(graph);
  }
}

/// What another step reads, or a recipe quantizes, must be there.
TEST(CpuDifferential, ProjectionsOfOneQueryStayWhereTheyAreNeeded) {
  for (const bool read_elsewhere : {false, true}) {
    GraphMaker make(72);
    const ValueId x = make.linear(make.node(graph::Reshape{{12, 3}}, {make.input({3, 4, 3})}), 16);
    const ValueId q = make.node(graph::Slice{0, 0, 1}, {x});
    const ValueId k = make.linear(x, 16);
    const ValueId v = make.linear(x, 16);
    ValueId mixed = make.node(graph::Attention{2, 0.4}, {q, k, v});
    if (read_elsewhere) mixed = make.node(graph::Concat{0}, {mixed, k});
    graph::Graph graph = make.finish(mixed);
    EXPECT_EQ(lowers_with(graph, "one query"), !read_elsewhere);
    constexpr std::size_t kKeys = 3;  // reshape, linear, slice, and then the keys' projection
    EXPECT_EQ(is_one_query_attention(graph, kKeys), !read_elsewhere);
    graph.nodes[kKeys].precision = graph::Precision::int8;
    EXPECT_FALSE(is_one_query_attention(graph, kKeys));
    graph.nodes[kKeys].precision = graph::Precision::fp32;
    compare(std::move(graph));
  }
}

TEST(CpuDifferential, UnfoldAndFold) {
  GraphMaker make(21);
  const ValueId image = make.input({6, 8, 3});
  ValueId x = make.conv(image, 10, 1, {});
  x = make.node(graph::Reshape{{3, 2, 4, 2, 10}}, {x});
  x = make.node(graph::Transpose{{1, 3, 0, 2, 4}}, {x});
  x = make.node(graph::Reshape{{4, 12, 10}}, {x});
  const ValueId mixed = make.node(graph::Attention{2, 0.5}, {x, x, x});
  x = make.node(graph::Reshape{{2, 2, 3, 4, 10}}, {mixed});
  x = make.node(graph::Transpose{{2, 0, 3, 1, 4}}, {x});
  x = make.node(graph::Reshape{{6, 8, 10}}, {x});
  compare(make.finish(make.conv(x, 5, 3, {.padding = {1, 1}})));
}

TEST(CpuDifferential, Elementwise) {
  GraphMaker make(31);
  const ValueId x = make.input({7, 5, 3});
  const ValueId normed =
      make.node(graph::BatchNorm{1e-5}, {x, make.constant({3}), make.constant({3}),
                                         make.constant({3}), make.constant({3}, 0.5F, 2.0F)});
  const ValueId gelu = make.node(graph::Activate{Activation::gelu}, {normed});
  const ValueId silu = make.node(graph::Activate{Activation::silu}, {normed});
  const ValueId sum = make.node(graph::Add{}, {gelu, silu});
  const ValueId scaled = make.node(graph::Mul{}, {make.constant({5, 3}), sum});
  const ValueId halved = make.node(graph::Mul{}, {scaled, make.constant({})});
  const ValueId product = make.node(graph::Mul{}, {halved, gelu});
  compare(make.finish(make.node(graph::Softmax{}, {make.node(graph::Add{}, {product, x})})));
}

TEST(CpuDifferential, ConcatAndSliceOfEveryAxis) {
  for (int axis = 0; axis < 3; ++axis) {
    GraphMaker make(static_cast<unsigned>(40 + axis));
    const ValueId x = make.linear(make.input({4, 6, 3}), 8);
    const std::int64_t length = make.dims(x)[static_cast<std::size_t>(axis)];
    const ValueId head = make.node(graph::Slice{axis, 0, 3}, {x});
    const ValueId tail = make.node(graph::Slice{axis, 1, length}, {x});
    const ValueId joined = make.node(graph::Concat{axis}, {tail, head, x});
    compare(make.finish(make.layer_norm(make.node(graph::Slice{axis, 1, 6}, {joined}))));
  }
}

TEST(CpuDifferential, TransposesOfSlices) {
  GraphMaker make(51);
  const ValueId x = make.linear(make.input({4, 6, 3}), 10);
  const ValueId part = make.node(graph::Slice{2, 3, 9}, {x});
  const ValueId turned = make.node(graph::Transpose{{2, 0, 1}}, {part});
  compare(make.finish(make.node(graph::Reshape{{12, 12}}, {turned})));
}

TEST(CpuDifferential, ResizeAndMean) {
  for (const auto mode : {graph::ResizeMode::bilinear, graph::ResizeMode::bicubic}) {
    for (const std::vector<int>& axes :
         {std::vector<int>{0, 1}, std::vector<int>{1}, std::vector<int>{0, 1, 2}}) {
      GraphMaker make(61);
      const ValueId x = make.node(graph::Resize{mode, 9, 7}, {make.input({12, 10, 3})});
      compare(make.finish(make.node(graph::Mean{axes}, {x})));
    }
  }
}

}  // namespace
}  // namespace assay::backend::cpu
