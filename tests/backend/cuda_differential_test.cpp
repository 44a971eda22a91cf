/// The cuda backend against the reference backend: layers one by one, closely; the structures of
/// the families' networks; and random networks.
#include "backend/cpu_random_graph.h"
#include "backend/cuda_random_network.h"
#include "backend/cuda_support.h"

namespace assay::backend::cuda {
namespace {

using cpu::GraphMaker;
using graph::Activation;
using graph::Conv2d;
using graph::ValueId;

class CudaDifferential : public OnDevice {};

/// Depths that fill no block and no vector, more rows and columns than a tile has and fewer.
TEST_F(CudaDifferential, OneLinearLayer) {
  for (const std::int64_t depth : {1, 15, 64, 65, 130, 389}) {
    for (const std::int64_t width : {1, 10, 67, 129}) {
      SCOPED_TRACE(testing::Message() << depth << " to " << width);
      GraphMaker make(static_cast<unsigned>(depth * 1000 + width));
      const ValueId x = make.node(graph::Reshape{{9, depth}}, {make.input({3, depth, 3})});
      const auto activation = static_cast<Activation>(width % 3);
      expect_agreement_in_every_way(make.finish(make.linear(x, width, width > 1, activation)),
                                    &Way::layer);
    }
  }
}

TEST_F(CudaDifferential, OneLinearLayerOfManyRows) {
  GraphMaker make(2);
  const ValueId x = make.node(graph::Reshape{{277, 48}}, {make.input({16, 277, 3})});
  const graph::Graph graph = make.finish(make.linear(x, 145, true, Activation::gelu));
  expect_agreement_in_every_way(graph, &Way::layer);
}

TEST_F(CudaDifferential, OneConvolution) {
  for (const int kernel : {1, 2, 3, 5}) {
    for (const int stride : {1, 2, 3}) {
      for (const int dilation : {1, 2}) {
        SCOPED_TRACE(testing::Message()
                     << kernel << ", stride " << stride << ", dilation " << dilation);
        GraphMaker make(static_cast<unsigned>(kernel * 100 + stride * 10 + dilation));
        const Conv2d op{.stride = {stride, stride},
                        .padding = {kernel / 2, kernel - 1},
                        .dilation = {dilation, 1},
                        .activation = Activation::silu};
        const ValueId x = make.node(graph::Reshape{{13, 11, 18}}, {make.input({13, 66, 3})});
        expect_agreement_in_every_way(make.finish(make.conv(x, 21, kernel, op, stride > 1)),
                                      &Way::layer);
      }
    }
  }
}

/// The picture's three channels, as stems and patch embeddings read them.
TEST_F(CudaDifferential, ConvolutionsOfThePicture) {
  for (const int kernel : {3, 4, 12, 16}) {
    GraphMaker make(static_cast<unsigned>(kernel));
    const int stride = kernel == 3 ? 2 : kernel;
    const Conv2d op{.stride = {stride, stride}, .padding = {kernel == 3, kernel == 3}};
    expect_agreement_in_every_way(make.finish(make.conv(make.input({48, 32, 3}), 17, kernel, op)),
                                  &Way::layer);
  }
}

/// With a layer behind, whose format says how the activations between are stored.
TEST_F(CudaDifferential, GroupedConvolutions) {
  for (const int groups : {2, 4, 12}) {
    for (const int stride : {1, 2}) {
      GraphMaker make(static_cast<unsigned>(groups * 10 + stride));
      const Conv2d op{.stride = {stride, stride},
                      .padding = {1, 1},
                      .groups = groups,
                      .activation = Activation::silu};
      const ValueId x = make.node(graph::Reshape{{9, 7, 12}}, {make.input({9, 28, 3})});
      const ValueId grouped = make.conv(x, 24, 3, op, stride > 1);
      expect_agreement_in_every_way(make.finish(make.conv(grouped, 10, 1, {})), &Way::network);
    }
  }
}

/// Head sizes and keys that fill no fragment; one query; one key; several sequences an image.
TEST_F(CudaDifferential, Attention) {
  struct Size {
    std::int64_t sequences, queries, keys, head_size;
    int heads;
  };
  for (const Size& size :
       {Size{1, 1, 1, 8, 1}, Size{1, 1, 39, 5, 3}, Size{1, 64, 64, 16, 2}, Size{4, 9, 9, 12, 4},
        Size{1, 7, 270, 36, 2}, Size{2, 197, 197, 32, 1}}) {
    SCOPED_TRACE(testing::Message() << size.queries << " queries, " << size.keys << " keys");
    const std::int64_t width = size.heads * size.head_size;
    GraphMaker make(static_cast<unsigned>(size.keys));
    const std::int64_t tokens = size.queries + 2 * size.keys;
    const ValueId image = make.input({size.sequences * tokens, width, 3});
    const ValueId all = make.node(graph::Reshape{{size.sequences, tokens, 3 * width}}, {image});
    std::vector<ValueId> parts;
    const std::int64_t ends[4] = {0, size.queries, size.queries + size.keys, tokens};
    for (int i = 0; i < 3; ++i) {
      const ValueId rows = make.node(graph::Slice{1, ends[i], ends[i + 1]}, {all});
      parts.push_back(make.node(graph::Slice{2, i * width, (i + 1) * width}, {rows}));
    }
    // The weights of the softmax are rounded, so that this is no single rounding of exact numbers.
    expect_agreement_in_every_way(make.finish(make.node(graph::Attention{size.heads, 0.6}, parts)),
                                  &Way::network);
  }
}

TEST_F(CudaDifferential, TransformerBlock) {
  for (const std::int64_t width : {12, 36, 96}) {
    expect_agreement_in_every_way(cpu::transformer_block(width), &Way::network);
  }
}

TEST_F(CudaDifferential, InvertedResidual) {
  for (const int stride : {1, 2}) {
    GraphMaker make(static_cast<unsigned>(stride));
    const ValueId x = make.conv(make.input({14, 9, 3}), 12, 3,
                                {.padding = {1, 1}, .activation = Activation::silu});
    const ValueId wide = make.conv(x, 40, 1, {.activation = Activation::silu});
    const Conv2d depthwise{.stride = {stride, stride},
                           .padding = {1, 1},
                           .groups = 40,
                           .activation = Activation::silu};
    const ValueId deep = make.conv(wide, 40, 3, depthwise);
    const ValueId residual = stride == 1 ? x : graph::kNone;
    expect_agreement_in_every_way(make.finish(make.conv(deep, 12, 1, {}, true, residual)),
                                  &Way::network);
  }
}

/// CrossViT's: the class token of one branch looks at the patches of another and goes back.
TEST_F(CudaDifferential, CrossAttention) {
  GraphMaker make(71);
  const ValueId image = make.input({5, 8, 3});
  const ValueId patches = make.linear(make.node(graph::Reshape{{40, 3}}, {image}), 16);
  const ValueId others = make.node(graph::Concat{0}, {make.constant({1, 16}), patches});
  const ValueId first = make.node(graph::Slice{0, 0, 1}, {others});
  const ValueId rest = make.node(graph::Slice{0, 1, 41}, {others});
  const ValueId token =
      make.linear(make.node(graph::Activate{Activation::gelu}, {make.layer_norm(first)}), 16);
  const ValueId seen = make.layer_norm(make.node(graph::Concat{0}, {token, rest}));
  const ValueId q = make.linear(make.node(graph::Slice{0, 0, 1}, {seen}), 16);
  const ValueId mixed =
      make.node(graph::Attention{2, 0.4}, {q, make.linear(seen, 16), make.linear(seen, 16)});
  const ValueId moved = make.linear(mixed, 16, true, Activation::none, token);
  const ValueId back = make.node(graph::Concat{0}, {make.linear(moved, 16), rest});
  expect_agreement_in_every_way(make.finish(make.layer_norm(back)), &Way::network);
}

/// MobileViT's: patches of a map become sequences and go back, beside a shortcut.
TEST_F(CudaDifferential, UnfoldAndFold) {
  GraphMaker make(21);
  const ValueId map = make.conv(make.input({6, 8, 3}), 24, 1, {});
  ValueId x =
      make.node(graph::Reshape{{3, 2, 4, 2, 24}}, {make.conv(map, 24, 3, {.padding = {1, 1}})});
  x = make.node(graph::Transpose{{1, 3, 0, 2, 4}}, {x});
  x = make.layer_norm(make.node(graph::Reshape{{4, 12, 24}}, {x}));
  const ValueId qkv = make.linear(x, 72);
  std::vector<ValueId> parts;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(make.node(graph::Slice{2, i * 24, (i + 1) * 24}, {qkv}));
  }
  x = make.linear(make.node(graph::Attention{4, 0.1}, parts), 24, true, Activation::none, x);
  x = make.node(graph::Reshape{{2, 2, 3, 4, 24}}, {make.layer_norm(x)});
  x = make.node(graph::Transpose{{2, 0, 3, 1, 4}}, {x});
  x = make.node(graph::Reshape{{6, 8, 24}}, {x});
  const ValueId joined = make.node(graph::Concat{2}, {map, make.conv(x, 24, 1, {})});
  expect_agreement_in_every_way(make.finish(make.conv(joined, 20, 3, {.padding = {1, 1}})),
                                &Way::network);
}

TEST_F(CudaDifferential, ResizeAndMean) {
  for (const auto mode : {graph::ResizeMode::bilinear, graph::ResizeMode::bicubic}) {
    for (const std::vector<int>& axes :
         {std::vector<int>{0, 1}, std::vector<int>{1}, std::vector<int>{0, 1, 2}}) {
      GraphMaker make(61);
      const ValueId x = make.conv(make.input({12, 10, 3}), 11, 1, {});
      const ValueId resized = make.node(graph::Resize{mode, 9, 7}, {x});
      expect_agreement_in_every_way(make.finish(make.node(graph::Mean{axes}, {resized})),
                                    &Way::network);
    }
  }
}

TEST_F(CudaDifferential, Elementwise) {
  GraphMaker make(31);
  const ValueId x = make.linear(make.input({7, 5, 3}), 3);
  const ValueId normed =
      make.node(graph::BatchNorm{1e-5}, {x, make.constant({3}), make.constant({3}),
                                         make.constant({3}), make.constant({3}, 0.5F, 2.0F)});
  const ValueId gelu = make.node(graph::Activate{Activation::gelu}, {normed});
  const ValueId silu = make.node(graph::Activate{Activation::silu}, {normed});
  const ValueId sum = make.node(graph::Add{}, {gelu, silu});
  const ValueId scaled = make.node(graph::Mul{}, {make.constant({5, 3}), sum});
  const ValueId halved = make.node(graph::Mul{}, {scaled, make.constant({})});
  const ValueId product = make.node(graph::Mul{}, {halved, gelu});
  const ValueId softmax = make.node(graph::Softmax{}, {make.node(graph::Add{}, {product, x})});
  expect_agreement_in_every_way(make.finish(softmax), &Way::network);
}

TEST_F(CudaDifferential, ConcatAndSliceOfEveryAxis) {
  for (int axis = 0; axis < 3; ++axis) {
    GraphMaker make(static_cast<unsigned>(40 + axis));
    const ValueId x = make.linear(make.input({4, 6, 3}), 8);
    const std::int64_t length = make.dims(x)[static_cast<std::size_t>(axis)];
    const ValueId head = make.node(graph::Slice{axis, 0, 3}, {x});
    const ValueId tail = make.node(graph::Slice{axis, 1, length}, {x});
    const ValueId joined = make.node(graph::Concat{axis}, {tail, head, x});
    const ValueId part = make.node(graph::Slice{axis, 1, 6}, {joined});
    expect_agreement_in_every_way(make.finish(make.layer_norm(part)), &Way::network);
  }
}

/// Layers of several formats in one graph, attention at fp8 among them.
TEST_F(CudaDifferential, SeveralFormatsInOneGraph) {
  expect_agreement(graph::scaled_graph(), kWays.back().network);
}

constexpr unsigned kNetworks = 24;
constexpr int kBlocks = 6;

TEST_F(CudaDifferential, RandomNetworks) {
  for (unsigned seed = 0; seed < kNetworks; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_agreement_in_every_way(RandomNetwork(seed).build(kBlocks), &Way::network);
  }
}

/// Every layer in a format of its own.
TEST_F(CudaDifferential, RandomNetworksOfMixedFormats) {
  for (unsigned seed = 100; seed < 100 + kNetworks; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    graph::Graph graph = RandomNetwork(seed).build(kBlocks);
    const auto wide = std::make_shared<const graph::Graph>(graph);
    const Trace values = trace_of(wide, {"reference", 0}, 0, 1, input_for(graph, 1));
    std::mt19937 random(seed);
    for (const std::string& name : layers_of(graph)) {
      narrow(graph, name, kWays[random() % kWays.size()], values);
    }
    expect_agreement(std::move(graph), kWays.back().network);
  }
}

}  // namespace
}  // namespace assay::backend::cuda
