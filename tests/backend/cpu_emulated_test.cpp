/// Graphs at precisions that the cpu backend has no arithmetic for, against the reference backend:
/// one layer at a time closely, for both round the same numbers; and whole blocks loosely, for a
/// number near a tie may round either way once fp32 sums lie in front of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "backend/cpu_narrow_graph.h"
#include "backend/cpu_trace.h"
#include "graph/scaled.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;
using graph::Conv2d;
using graph::Graph;
using graph::Precision;
using graph::Scales;
using graph::ValueId;

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

/// How every product of a graph is stored.
struct Way {
  const char* name;
  Precision precision;
  Scales scales = Scales::tensor;
  const char* description;  ///< what the plan says of it
};

constexpr std::array<Way, 4> kWays{
    {{"fp16", Precision::fp16, Scales::tensor, ", fp16 stored"},
     {"fp8, one scale", Precision::fp8, Scales::tensor, ", fp8 emulated"},
     {"fp8, a scale a channel", Precision::fp8, Scales::channel, ", fp8 emulated"},
     {"nvfp4", Precision::nvfp4, Scales::tensor, ", nvfp4 emulated"}}};

/// The scale of activations: 448 of it is beyond what these graphs' values are but for a few.
constexpr float kInputScale = 0.011F;

Graph stored(const Graph& made, const Way& way) {
  Graph graph = made;
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) {
    const bool attention = std::holds_alternative<graph::Attention>(node.op);
    if (is_product(node) || (attention && way.precision != Precision::nvfp4)) {
      names.push_back(node.name);
    }
  }
  for (const std::string& name : names) {
    if (way.precision == Precision::fp16) graph::make_fp16(graph, name);
    if (way.precision == Precision::fp8) graph::make_fp8(graph, name, way.scales, kInputScale);
    if (way.precision == Precision::nvfp4) graph::make_nvfp4(graph, name);
  }
  graph::verify(graph);
  return graph;
}

/// Numbers that fp16 has: what the reference backend rounds at fp16 and nvfp4, and the cpu backend
/// does not, is what it was.
std::vector<float> fp16_input(const Graph& graph) {
  std::vector<float> input(
      static_cast<std::size_t>(graph::elements(graph.value(graph.input).dims)));
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : input) x = numerics::Fp16::decode(numerics::Fp16::encode(uniform(generator)));
  return input;
}

/// What the two backends may differ by, in shares of a value's largest number.
struct Tolerance {
  float each;
  double mean;
};

/// Sums of fp32 in another order, and nothing else.
constexpr Tolerance kOneLayer{200 * kEpsilon, 50 * kEpsilon};
/// Numbers that round to the other side are a step of their format off: at E4M3 up to an eighth of
/// themselves, of which a sum of many has a small part; at fp16, rounded by the reference backend
/// alone, 2^-11 everywhere. Most are far closer.
constexpr Tolerance kBlock{0.1F, 0.002};

void expect_close(const Trace& want, const Trace& got, const Tolerance& tolerance) {
  ASSERT_FALSE(got.empty());
  for (const auto& [name, numbers] : got) {
    if (name.ends_with(".fake_quantize")) continue;  // the reference backend rounds within
    const auto& expected = want.at(name);
    ASSERT_EQ(numbers.size(), expected.size()) << name;
    const float largest = largest_of(expected, 1e-3F);
    double total = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_NEAR(numbers[i], expected[i], tolerance.each * largest) << name << " at " << i;
      total += std::abs(numbers[i] - expected[i]);
    }
    EXPECT_LT(total / static_cast<double>(numbers.size()), tolerance.mean * largest) << name;
  }
}

void compare_one(const Graph& made, const Way& way, const Tolerance& tolerance) {
  const auto graph = std::make_shared<const Graph>(stored(made, way));
  const std::vector<float> input = fp16_input(*graph);
  const Trace want = trace_of(graph, "reference", 0, 1, 1, input);
  for (const Isa isa : supported_isas()) {
    use_isa(isa);
    SCOPED_TRACE(testing::Message() << way.name << ", " << name(isa));
    const Trace simple = trace_of(graph, "cpu", 0, 1, 1, input);
    const Trace fused = trace_of(graph, "cpu", 1, 1, 1, input);
    expect_close(want, simple, tolerance);
    expect_close(want, fused, tolerance);
    expect_close(simple, fused, tolerance);
    expect_same_bits(fused, trace_of(graph, "cpu", 1, 1, 3, input));
  }
}

void compare(const Graph& made, const Tolerance& tolerance) {
  const Isa before = active_isa();
  for (const Way& way : kWays) compare_one(made, way, tolerance);
  use_isa(before);
}

/// Depths that fill the blocks of nvfp4 and that do not, odd ones whose rows begin within a byte.
TEST(CpuEmulated, OneLinearLayer) {
  for (const std::int64_t depth : {1, 15, 16, 48, 51}) {
    for (const std::int64_t width : {1, 10, 33}) {
      GraphMaker make(static_cast<unsigned>(depth * 100 + width));
      const ValueId x = make.node(graph::Reshape{{9, depth}}, {make.input({3, depth, 3})});
      compare(make.finish(make.linear(x, width, width > 1, Activation::gelu)), kOneLayer);
    }
  }
}

TEST(CpuEmulated, OneConvolution) {
  for (const int kernel : {1, 2, 3}) {
    for (const int stride : {1, 2}) {
      GraphMaker make(static_cast<unsigned>(kernel * 10 + stride));
      const Conv2d op{.stride = {stride, stride},
                      .padding = {kernel / 2, kernel / 2},
                      .activation = Activation::silu};
      compare(make.finish(make.conv(make.input({11, 13, 3}), 9, kernel, op)), kOneLayer);
    }
  }
}

/// Winograd's transforms magnify the rounding of their sums by about ten.
TEST(CpuEmulated, OneConvolutionThatIsLargeEnoughForWinograd) {
  GraphMaker make(3);
  const ValueId x = make.node(graph::Reshape{{9, 11, 36}}, {make.input({9, 132, 3})});
  compare(make.finish(make.conv(x, 35, 3, {.padding = {1, 1}})), {2000 * kEpsilon, 500 * kEpsilon});
}

TEST(CpuEmulated, InvertedResidual) {
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
    compare(make.finish(make.conv(deep, 12, 1, {}, true, stride == 1 ? x : graph::kNone)), kBlock);
  }
}

TEST(CpuEmulated, TransformerBlock) {
  for (const std::int64_t width : {12, 36}) compare(transformer_block(width), kBlock);
}

/// q, k and v are rounded to the same numbers on both backends. A weight of the softmax that lies
/// within an fp32 rounding of a tie of E4M3 may go either way, by an eighth of itself: one of the
/// thousands here seldom does, and it moves its row alone.
void expect_attention_close(const std::vector<float>& want, const std::vector<float>& got,
                            std::int64_t width) {
  const float largest = largest_of(want, 1e-3F);
  std::int64_t rows_off = 0;
  const auto rows = static_cast<std::int64_t>(want.size()) / width;
  for (std::int64_t row = 0; row < rows; ++row) {
    float off = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      const auto i = static_cast<std::size_t>(row * width + c);
      off = std::max(off, std::abs(got[i] - want[i]));
    }
    EXPECT_LE(off, largest / 8) << "row " << row;
    rows_off += off > 200 * kEpsilon * largest ? 1 : 0;
  }
  EXPECT_LE(rows_off, 1 + rows / 50);
}

/// Head sizes and numbers of keys that fill no vector; fewer queries than keys; one key; several
/// groups; more keys than 256, which a byte does not count.
TEST(CpuEmulated, Fp8Attention) {
  struct Size {
    std::int64_t groups, queries, keys, head_dim;
    int heads;
  };
  const Isa before = active_isa();
  for (const Size& size : {Size{1, 1, 1, 1, 1}, Size{1, 1, 39, 5, 3}, Size{1, 64, 64, 16, 2},
                           Size{4, 9, 9, 12, 4}, Size{1, 7, 270, 9, 2}, Size{2, 33, 33, 47, 1}}) {
    const std::int64_t width = size.heads * size.head_dim;
    GraphMaker make(static_cast<unsigned>(size.keys));
    const std::int64_t tokens = size.queries + 2 * size.keys;
    const ValueId image = make.input({size.groups * tokens, width, 3});
    const ValueId all = make.node(graph::Reshape{{size.groups, tokens, 3 * width}}, {image});
    std::vector<ValueId> parts;
    const std::int64_t ends[4] = {0, size.queries, size.queries + size.keys, tokens};
    for (int i = 0; i < 3; ++i) {
      const ValueId rows = make.node(graph::Slice{1, ends[i], ends[i + 1]}, {all});
      parts.push_back(make.node(graph::Slice{2, i * width, (i + 1) * width}, {rows}));
    }
    Graph made = make.finish(make.node(graph::Attention{size.heads, 0.6}, parts));
    graph::make_fp8(made, made.nodes.back().name, Scales::tensor, 0.002F);  // ±0.9: some saturate
    const auto graph = std::make_shared<const Graph>(std::move(made));
    graph::verify(*graph);
    const std::vector<float> input = fp16_input(*graph);
    const std::string& out = graph->nodes.back().name;
    const Trace want = trace_of(graph, "reference", 0, 1, 1, input);
    for (const Isa isa : supported_isas()) {
      use_isa(isa);
      for (const int level : {0, 1}) {
        SCOPED_TRACE(testing::Message()
                     << name(isa) << ", level " << level << ", keys " << size.keys);
        const Trace alone = trace_of(graph, "cpu", level, 1, 1, input);
        expect_attention_close(want.at(out), alone.at(out), width);
        expect_same_bits(alone, trace_of(graph, "cpu", level, 1, 3, input));
      }
    }
  }
  use_isa(before);
}

/// One query's keys and values are never computed where nothing needs them; fp8 rounds them.
TEST(CpuEmulated, OneQueryAtFp8ComputesItsKeysAndValues) {
  for (const bool projections_too : {false, true}) {
    GraphMaker make(5);
    const ValueId x = make.layer_norm(
        make.linear(make.node(graph::Reshape{{37, 3}}, {make.input({1, 37, 3})}), 21));
    const ValueId q = make.linear(make.node(graph::Slice{0, 0, 1}, {x}), 15);
    const ValueId k = make.linear(x, 15);
    const ValueId v = make.linear(x, 15);
    Graph graph = make.finish(make.node(graph::Attention{3, 0.3}, {q, k, v}));
    const auto tactics = [](const Graph& of) {
      std::vector<std::string> all;
      const auto plan =
          lower(std::make_shared<const Graph>(of), parse_target("cpu"), LowerOptions());
      for (const StepInfo& step : plan->steps()) all.push_back(step.tactic);
      return all;
    };
    EXPECT_THAT(tactics(graph), testing::Contains("one query"));
    if (projections_too) {
      compare(graph, kBlock);
      graph = stored(graph, kWays[1]);
    } else {
      graph::make_fp8(graph, graph.nodes.back().name, Scales::tensor, kInputScale);
    }
    EXPECT_THAT(tactics(graph), testing::Contains("emulated fp8"));
    EXPECT_THAT(tactics(graph), testing::Not(testing::Contains("one query")));
  }
}

TEST(CpuEmulated, ThePlanSaysWhatItEmulates) {
  const auto description_of = [](const Graph& graph) {
    LowerOptions options;
    options.threads = 2;
    return lower(std::make_shared<const Graph>(graph), parse_target("cpu"), options)->description();
  };
  GraphMaker make(1);
  const Graph plain = make.finish(make.linear(make.input({2, 3, 3}), 4));
  const std::string before = fmt::format("cpu {}, 2 threads", name(active_isa()));
  EXPECT_EQ(description_of(plain), before);
  for (const Way& way : kWays) {
    EXPECT_EQ(description_of(stored(plain, way)), before + way.description);
  }
  EXPECT_EQ(description_of(graph::scaled_graph()),
            before + ", fp16 stored, fp8 emulated, nvfp4 emulated");
  EXPECT_EQ(description_of(narrow_transformer_block(Precision::int8)), before);
}

/// A batch is the same numbers as its images one by one.
TEST(CpuEmulated, ImagesOfABatchAreIndependent) {
  GraphMaker make(8);
  const ValueId tokens =
      make.linear(make.node(graph::Reshape{{15, 3}}, {make.input({3, 5, 3})}), 12);
  const ValueId mixed = make.node(graph::Attention{2, 0.4}, {tokens, tokens, tokens});
  const auto graph =
      std::make_shared<const Graph>(stored(make.finish(make.linear(mixed, 5)), kWays[2]));
  std::vector<float> images(3 * 45);
  std::mt19937 generator(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : images) x = uniform(generator);
  const Trace together = trace_of(graph, "cpu", 1, 3, 2, images);
  for (std::size_t image = 0; image < 3; ++image) {
    const Trace alone = trace_of(graph, "cpu", 1, 1, 2, std::span(images).subspan(45 * image, 45));
    for (const auto& [name, numbers] : alone) {
      const auto part =
          std::span(together.at(name)).subspan(image * numbers.size(), numbers.size());
      EXPECT_TRUE(std::ranges::equal(part, numbers)) << name;
    }
  }
}

}  // namespace
}  // namespace assay::backend::cpu
