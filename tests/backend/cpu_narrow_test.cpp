/// Graphs with bf16 and int8 products: the cpu backend against the reference backend, which
/// emulates the same roundings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "backend/cpu_narrow_graph.h"
#include "backend/cpu_trace.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;
using graph::Conv2d;
using graph::Precision;
using graph::ValueId;

/// A number that rounds one way in double and the other in fp32 is a step of its operand off: 2^-8
/// of it at bf16, a scale at int8. A few such, and the activations' 2e-4, are well below a
/// twentieth of a value's largest number; a wrong row, column, scale or residual is not. Most
/// numbers must be far closer than that.
void expect_close(const Trace& want, const Trace& got, Precision precision) {
  ASSERT_FALSE(got.empty());
  for (const auto& [name, numbers] : got) {
    const auto& expected = want.at(name);
    ASSERT_EQ(numbers.size(), expected.size()) << name;
    const float largest = largest_of(expected, 1e-3F);
    double total = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_NEAR(numbers[i], expected[i], 0.05F * largest) << name << " at " << i;
      total += std::abs(numbers[i] - expected[i]);
    }
    const double mean = total / static_cast<double>(numbers.size());
    EXPECT_LT(mean, (precision == Precision::int8 ? 0.004 : 0.002) * largest) << name;
  }
}

void compare(const graph::Graph& made) {
  const Isa before = active_isa();
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    const auto graph = std::make_shared<const graph::Graph>(narrowed(made, precision));
    graph::verify(*graph);
    std::vector<float> input(
        static_cast<std::size_t>(graph::elements(graph->value(graph->input).dims)));
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : input) x = uniform(generator);
    const Trace want = trace_of(graph, "reference", 0, 1, 1, input);
    for (const Isa isa : supported_isas()) {
      use_isa(isa);
      for (const int level : {0, 1}) {
        SCOPED_TRACE(testing::Message()
                     << graph::name(precision) << ", " << name(isa) << ", level " << level);
        const Trace alone = trace_of(graph, "cpu", level, 1, 1, input);
        expect_close(want, alone, precision);
        const Trace together = trace_of(graph, "cpu", level, 1, 3, input);
        expect_same_bits(alone, together);
      }
    }
  }
  use_isa(before);
}

TEST(CpuNarrow, Linear) {
  for (const std::int64_t n : {1, 10, 33, 67}) {
    GraphMaker make(static_cast<unsigned>(n));
    const ValueId x = make.linear(make.input({5, 7, 3}), 19, true, Activation::gelu);
    const ValueId y = make.linear(x, n, false, Activation::silu);
    compare(make.finish(make.linear(x, n, true, Activation::none, y)));
  }
}

TEST(CpuNarrow, Convolutions) {
  for (const int kernel : {1, 3}) {
    for (const int stride : {1, 2}) {
      GraphMaker make(static_cast<unsigned>(kernel * 100 + stride * 10));
      const Conv2d op{.stride = {stride, stride},
                      .padding = {kernel / 2, kernel / 2},
                      .activation = Activation::silu};
      const ValueId x = make.conv(make.input({25, 21, 3}), 8, kernel, op);
      compare(make.finish(make.conv(x, 6, kernel, op)));
    }
  }
}

TEST(CpuNarrow, InvertedResidual) {
  for (const int stride : {1, 2}) {
    for (const std::int64_t wide : {40, 64}) {
      GraphMaker make(static_cast<unsigned>(stride));
      const ValueId x = make.conv(make.input({14, 9, 3}), 12, 3,
                                  {.padding = {1, 1}, .activation = Activation::silu});
      const ValueId widened = make.conv(x, wide, 1, {.activation = Activation::silu});
      const ValueId deep = make.conv(widened, wide, 3,
                                     {.stride = {stride, stride},
                                      .padding = {1, 1},
                                      .groups = static_cast<int>(wide),
                                      .activation = Activation::silu});
      compare(make.finish(make.conv(deep, 12, 1, {}, true, stride == 1 ? x : graph::kNone)));
    }
  }
}

TEST(CpuNarrow, TransformerBlock) {
  for (const std::int64_t width : {12, 36}) compare(transformer_block(width));
}

TEST(CpuNarrow, AttentionOfManyKeysAndFewQueries) {
  for (const std::int64_t queries : {1, 70}) {
    GraphMaker make(static_cast<unsigned>(queries));
    const ValueId tokens =
        make.linear(make.node(graph::Reshape{{99, 3}}, {make.input({9, 11, 3})}), 40);
    const ValueId q = make.node(graph::Slice{0, 0, queries}, {make.linear(tokens, 40)});
    compare(make.finish(make.node(graph::Attention{2, 0.2},
                                  {q, make.linear(tokens, 40), make.linear(tokens, 40)})));
  }
}

#if defined(__x86_64__)
TEST(CpuNarrow, ARunLeavesTheCallersFloatingPointModeAlone) {
  const auto graph =
      std::make_shared<const graph::Graph>(narrow_transformer_block(Precision::bf16));
  const auto session = lower(graph, parse_target("cpu"), {})->make_session();
  const std::vector<float> input(5 * 9 * 3, 0.5F);
  std::vector<float> logits(45 * 24);
  constexpr unsigned kDefault = 0x1F80;  // of a program's start, whatever ran before this test
  _mm_setcsr(kDefault);
  session->run({{}, input}, 1, {logits, {}});
  constexpr unsigned kSticky = 0x3F;  // exceptions that were met
  EXPECT_EQ(_mm_getcsr() & ~kSticky, kDefault);
}
#endif

}  // namespace
}  // namespace assay::backend::cpu
