/// Inverted residuals as one step of the cuda backend: when they are one, how their weights lie,
/// and that the step computes what the reference backend does.
#include <gmock/gmock.h>

#include <cstring>

#include "backend/cpu_random_graph.h"
#include "backend/cuda/inverted_weights.h"
#include "backend/cuda/lowering.h"
#include "backend/cuda_support.h"
#include "numerics/fp16.h"

namespace assay::backend::cuda {
namespace {

using cpu::GraphMaker;
using graph::Activation;
using graph::Conv2d;
using graph::Precision;
using graph::ValueId;

struct Shape {
  std::int64_t height, width, channels, expanded, out;
  int stride;
  bool residual;
};

/// How a graph can differ from one whose inverted residual is one step.
struct Change {
  Activation inner = Activation::silu;
  Activation last = Activation::none;
  int kernel = 3;
  int padding = 1;
  bool other_residual = false;
  bool inner_output = false;
  bool second_reader = false;
  bool last_is_output = false;
};

/// A convolution that makes the image, the inverted residual, and a layer that reads it.
graph::Graph inverted(const Shape& shape, const Change& change = {}) {
  GraphMaker make(static_cast<unsigned>(shape.height * 100 + shape.expanded + shape.stride));
  const ValueId input = make.input({shape.height, shape.width, 3});
  const ValueId x = make.conv(input, shape.channels, 3, {.padding = {1, 1}});
  const ValueId other = make.conv(input, shape.channels, 1, {});
  const ValueId wide = make.conv(x, shape.expanded, 1, {.activation = change.inner});
  const Conv2d depthwise{.stride = {shape.stride, shape.stride},
                         .padding = {change.padding, change.padding},
                         .groups = static_cast<int>(shape.expanded),
                         .activation = Activation::silu};
  const ValueId deep = make.conv(wide, shape.expanded, change.kernel, depthwise);
  const ValueId added = change.other_residual ? other : x;
  const ValueId out = make.conv(deep, shape.out, 1, {.activation = change.last}, true,
                                shape.residual ? added : graph::kNone);
  if (change.last_is_output) return make.finish(out);
  ValueId logits = make.conv(out, 10, 1, {});
  if (change.second_reader) {
    logits = make.node(graph::Concat{2}, {logits, make.conv(deep, 10, 1, {})});
  }
  graph::Graph graph = make.finish(logits);
  if (change.inner_output) graph.outputs.push_back({"features", wide});
  return graph;
}

graph::Graph at_precision(graph::Graph graph, Precision precision) {
  Trace ones;
  for (const graph::Value& value : graph.values) ones[value.name] = {1};
  for (const Way& way : kWays) {
    if (way.precision != precision) continue;
    for (const std::string& name : layers_of(graph)) narrow(graph, name, way, ones);
    break;
  }
  return graph;
}

std::vector<Step> steps_of(const graph::Graph& graph, int level = 1) {
  LowerOptions options;
  options.optimization_level = level;
  return Lowering(graph, options).finish().steps;
}

std::size_t fused_in(const graph::Graph& graph, int level = 1) {
  return static_cast<std::size_t>(std::ranges::count_if(steps_of(graph, level), [](const Step& s) {
    return s.info.tactic == "inverted residual f16";
  }));
}

constexpr Shape kShape{9, 7, 16, 64, 16, 1, true};

TEST(CudaInverted, IsOneStep) {
  const graph::Graph graph = at_precision(inverted(kShape), Precision::fp16);
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
  for (const Step& step : steps_of(graph, 0)) {
    const bool inner = step.info.name == graph.nodes[2].name ||
                       step.info.name == graph.nodes[3].name ||
                       step.info.name == graph.nodes[4].name;
    flops += inner ? step.info.flops : 0;
    bytes += inner ? step.info.weight_bytes : 0;
  }
  const std::vector<Step> steps = steps_of(graph);
  const auto fused = std::ranges::find(steps, graph.nodes[4].name,
                                       [](const Step& step) { return step.info.name; });
  ASSERT_NE(fused, steps.end());
  EXPECT_EQ(fused->info.tactic, "inverted residual f16");
  EXPECT_EQ(fused->info.flops, flops);
  EXPECT_EQ(fused->info.weight_bytes, bytes);
  EXPECT_EQ(fused->materialized, std::vector<ValueId>{graph.nodes[4].output});
  EXPECT_EQ(steps.size(), steps_of(graph, 0).size() - 2);
  EXPECT_EQ(fused_in(at_precision(inverted({9, 7, 16, 64, 24, 2, false}), Precision::fp16)), 1U);
}

TEST(CudaInverted, IsSeveralStepsWhereTheKernelIsNotForIt) {
  const auto fused = [](const Shape& shape, const Change& change,
                        Precision precision = Precision::fp16) {
    return fused_in(at_precision(inverted(shape, change), precision));
  };
  for (const Precision precision :
       {Precision::fp32, Precision::bf16, Precision::fp8, Precision::nvfp4}) {
    EXPECT_EQ(fused(kShape, {}, precision), 0U) << graph::name(precision);
  }
  EXPECT_EQ(fused_in(at_precision(inverted(kShape), Precision::fp16), 0), 0U);
  EXPECT_EQ(fused(kShape, {.inner = Activation::gelu}), 0U);
  EXPECT_EQ(fused(kShape, {.last = Activation::silu}), 0U);
  EXPECT_EQ(fused(kShape, {.kernel = 5, .padding = 2}), 0U);
  EXPECT_EQ(fused(kShape, {.other_residual = true}), 0U);
  EXPECT_EQ(fused(kShape, {.inner_output = true}), 0U);
  EXPECT_EQ(fused(kShape, {.second_reader = true}), 0U);
  EXPECT_EQ(fused(kShape, {.last_is_output = true}), 0U) << "what a graph gives away is fp32";
  EXPECT_EQ(fused({9, 7, 12, 48, 12, 1, true}, {}), 0U) << "no whole octets of channels";
  EXPECT_EQ(fused({9, 7, 16, 64, 20, 1, false}, {}), 0U);
  EXPECT_EQ(fused({9, 7, 512, 16384, 512, 1, true}, {}), 0U) << "no room in shared memory";
}

/// Fragments, by the definition of a product: a lane's numbers stand in their rows and columns.
TEST(CudaInverted, PacksWeightsGroupByGroup) {
  constexpr int kChannels = 24;
  constexpr int kExpanded = 40;
  constexpr int kOut = 24;
  std::vector<float> expand(kExpanded * kChannels);
  std::vector<float> project(kOut * kExpanded);
  std::vector<float> depthwise(kExpanded * kTaps);
  std::vector<float> bias(kExpanded);
  for (std::size_t i = 0; i < expand.size(); ++i) expand[i] = static_cast<float>(i + 1);
  for (std::size_t i = 0; i < project.size(); ++i) project[i] = static_cast<float>(i + 1);
  for (std::size_t i = 0; i < depthwise.size(); ++i) depthwise[i] = static_cast<float>(i) / 3;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) / 7;
  const std::vector<std::byte> packed =
      pack_inverted({kChannels, kExpanded, kOut, expand, depthwise, project, bias, {}});
  const GroupLayout layout = group_layout(kChannels, kOut);
  ASSERT_EQ(packed.size(), 3U * static_cast<std::size_t>(layout.bytes));
  const auto half_at = [&](int byte) {
    numerics::Fp16::Code code = 0;
    std::memcpy(&code, packed.data() + byte, sizeof code);
    return numerics::Fp16::decode(code);
  };
  const auto float_at = [&](int byte) {
    float number = 0;
    std::memcpy(&number, packed.data() + byte, sizeof number);
    return number;
  };
  const auto weight = [](const std::vector<float>& w, int row, int rows, int column, int columns) {
    return row < rows && column < columns ? w[static_cast<std::size_t>(row * columns + column)] : 0;
  };
  for (int group = 0; group < 3; ++group) {
    const int at = group * layout.bytes;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 8; ++i) {  // two columns' pairs of pairs
        const int column = i / 4 * 8 + lane / 4;
        const int depth = i / 2 % 2 * 8 + lane % 4 * 2 + i % 2;
        for (int block = 0; block < 2; ++block) {
          const int byte = (block * 32 + lane) * 16 + i * 2;
          EXPECT_EQ(half_at(at + byte),
                    weight(expand, group * 16 + column, kExpanded, block * 16 + depth, kChannels));
          EXPECT_EQ(half_at(at + layout.project + byte),
                    weight(project, block * 16 + column, kOut, group * 16 + depth, kExpanded));
        }
      }
    }
    for (int i = 0; i < kGroupChannels; ++i) {
      const int channel = group * 16 + i;
      EXPECT_EQ(float_at(at + layout.expand_bias + i * 4), weight(bias, 0, 1, channel, kExpanded));
      EXPECT_EQ(float_at(at + layout.depthwise_bias + i * 4), 0);
      for (int tap = 0; tap < kTaps; ++tap) {
        EXPECT_EQ(float_at(at + layout.depthwise + (tap * 16 + i) * 4),
                  weight(depthwise, channel, kExpanded, tap, kTaps));
      }
    }
  }
}

/// Every tiling that is chosen fits, at every batch.
TEST(CudaInverted, ChoosesTilesThatFit) {
  for (const std::int32_t size : {1, 7, 8, 16, 33, 128}) {
    for (const std::int32_t channels : {8, 24, 64, 128, 256}) {
      for (const std::int32_t stride : {1, 2}) {
        for (const int batch : {1, 3, 128}) {
          Inverted shape;
          shape.in_height = shape.in_width = size;
          shape.out_height = shape.out_width = (size + stride - 1) / stride;
          shape.channels = shape.out_channels = channels;
          shape.expanded = channels * 4;
          shape.stride = stride;
          if (!can_be_one_step(shape)) continue;
          EXPECT_TRUE(fits(shape, tiling_for(shape, batch))) << size << ", " << channels;
        }
      }
    }
  }
}

class CudaInvertedOnDevice : public OnDevice {};

/// Maps that fill no tile, channels that fill no group, expanded channels shared by a cluster.
TEST_F(CudaInvertedOnDevice, AgreesWithTheReference) {
  for (const Shape& shape :
       {Shape{7, 9, 8, 32, 8, 1, true}, Shape{7, 9, 8, 24, 16, 2, false},
        Shape{13, 5, 40, 160, 40, 1, true}, Shape{10, 11, 24, 72, 48, 2, false},
        Shape{16, 16, 128, 512, 160, 2, false}, Shape{1, 1, 16, 64, 16, 1, true},
        Shape{64, 33, 64, 256, 64, 1, true}, Shape{66, 64, 32, 128, 64, 2, false},
        Shape{40, 72, 16, 32, 24, 1, false}}) {
    SCOPED_TRACE(testing::Message() << shape.height << " x " << shape.width << " x "
                                    << shape.channels << ", stride " << shape.stride);
    const graph::Graph graph = narrowed(inverted(shape), kWays[2]);
    EXPECT_EQ(fused_in(graph), 1U);
    expect_agreement(graph, {2e-3, 8e-3});
  }
}

}  // namespace
}  // namespace assay::backend::cuda
