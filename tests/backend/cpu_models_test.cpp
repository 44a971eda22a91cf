/// The example networks on the cpu backend against the reference backend, step by step.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "checkpoint/checkpoint.h"
#include "families/families.h"
#include "graph/passes.h"

namespace assay::backend::cpu {
namespace {

using Trace = std::map<std::string, std::vector<float>>;

std::shared_ptr<const graph::Graph> network(const std::string& architecture, int height, int width,
                                            int level) {
  const auto opened = checkpoint::open(std::string(ASSAY_SOURCE_DIR) + "/examples/" + architecture +
                                       ".fashion_mnist");
  graph::Graph graph = families::build({opened.config, opened.weights, height, width});
  graph::optimize(graph, level);
  return std::make_shared<const graph::Graph>(std::move(graph));
}

Trace trace_of(const std::shared_ptr<const graph::Graph>& graph, const std::string& target,
               int level, std::span<const float> input) {
  LowerOptions options;
  options.optimization_level = level;
  options.threads = target == "cpu" ? 2 : 1;
  Trace trace;
  lower(graph, parse_target(target), options)
      ->make_session()
      ->trace({{}, input}, 1, [&](const graph::Value& value, int, std::span<const float> numbers) {
        trace[value.name].assign(numbers.begin(), numbers.end());
      });
  return trace;
}

struct Case {
  std::string architecture;
  int height;
  int width;
};

class CpuModels : public testing::TestWithParam<Case> {};

/// Some 200 steps, each with a relative rounding of about √K · 2⁻²⁴ of its sums (K up to 2,000
/// here) that the norms between them pass on at about its own size: errors add up as random ones
/// do, to √200 · √2000 · 2⁻²⁴ = 4e-5 of a value's largest number. A shifted row, a wrong epsilon or
/// a missing residual is off by orders of magnitude more.
constexpr float kTolerance = 4e-5F;

TEST_P(CpuModels, AgreeWithTheReferenceStepByStep) {
  const auto& [architecture, height, width] = GetParam();
  std::mt19937 generator(3);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> input(static_cast<std::size_t>(height * width * 3));
  for (float& x : input) x = uniform(generator);
  const Isa before = active_isa();
  for (const int level : {0, 1}) {
    const auto graph = network(architecture, height, width, level);
    const Trace want = trace_of(graph, "reference", 0, input);
    for (const Isa isa : supported_isas()) {
      if (isa == Isa::portable && height * width > 20000) continue;  // a matter of minutes
      use_isa(isa);
      SCOPED_TRACE(testing::Message() << name(isa) << ", level " << level);
      const Trace got = trace_of(graph, "cpu", level, input);
      EXPECT_GT(got.size(), graph->nodes.size() / 2);
      float worst = 0;
      for (const auto& [value, numbers] : got) {
        const auto& expected = want.at(value);
        ASSERT_EQ(numbers.size(), expected.size()) << value;
        float largest = 0;
        float error = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          largest = std::max(largest, std::abs(expected[i]));
          error = std::max(error, std::abs(numbers[i] - expected[i]));
        }
        ASSERT_LE(error, kTolerance * largest) << value;
        worst = std::max(worst, error / largest);
      }
      RecordProperty(fmt::format("worst_{}_{}", name(isa), level), std::to_string(worst));
    }
  }
  use_isa(before);
}

// MobileViT at a size that its patches do not divide: the maps are stretched and back.
INSTANTIATE_TEST_SUITE_P(Examples, CpuModels,
                         testing::Values(Case{"crossvit_9_240", 240, 240},
                                         Case{"mobilevit_xxs", 256, 256},
                                         Case{"mobilevit_xs", 120, 88},
                                         Case{"mobilevit_s", 136, 136}),
                         [](const auto& test) { return test.param.architecture; });

}  // namespace
}  // namespace assay::backend::cpu
