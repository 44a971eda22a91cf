/// Plans and sessions of the cpu backend: what a call promises whatever the network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "assay/error.h"
#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "backend/cpu_narrow_graph.h"
#include "backend/cpu_random_graph.h"
#include "backend/flops.h"
#include "bundle/count_allocations.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;
using graph::ValueId;
using testing::HasSubstr;

constexpr std::int64_t kHeight = 12;
constexpr std::int64_t kWidth = 10;
constexpr std::int64_t kPixels = kHeight * kWidth * 3;
constexpr std::int64_t kClasses = 7;
constexpr std::int64_t kFeatures = 16;

/// A bit of everything: a stem, an inverted residual, attention over the pixels, a mean, a head.
std::shared_ptr<const graph::Graph> small_network() {
  GraphMaker make(3);
  const ValueId image = make.input({kHeight, kWidth, 3});
  ValueId x = make.conv(image, 16, 3,
                        {.stride = {2, 2}, .padding = {1, 1}, .activation = Activation::silu});
  const ValueId wide = make.conv(x, 40, 1, {.activation = Activation::silu});
  const ValueId deep =
      make.conv(wide, 40, 3, {.padding = {1, 1}, .groups = 40, .activation = Activation::silu});
  x = make.conv(deep, 16, 1, {}, true, x);
  x = make.node(graph::Reshape{{30, 16}}, {x});
  const ValueId qkv = make.linear(make.layer_norm(x), 48);
  std::vector<ValueId> parts;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(make.node(graph::Slice{1, i * 16, (i + 1) * 16}, {qkv}));
  }
  x = make.linear(make.node(graph::Attention{2, 0.35}, parts), 16, true, Activation::none, x);
  const ValueId features = make.node(graph::Mean{{0}}, {x});
  graph::Graph graph = make.finish(make.linear(features, kClasses));
  graph.outputs.push_back({"features", features});
  graph::verify(graph);
  return std::make_shared<const graph::Graph>(std::move(graph));
}

LowerOptions options_of(int threads, int max_batch, int level = 1) {
  LowerOptions options;
  options.threads = threads;
  options.max_batch = max_batch;
  options.optimization_level = level;
  options.normalization = {{0.4F, 0.5F, 0.6F}, {0.2F, 0.25F, 0.3F}};
  return options;
}

std::vector<float> images(int batch) {
  std::mt19937 generator(17);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(static_cast<std::size_t>(batch * kPixels));
  for (float& x : numbers) x = uniform(generator);
  return numbers;
}

struct Answer {
  std::vector<float> logits;
  std::vector<float> features;
  bool operator==(const Answer& other) const {
    const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    return same(logits, other.logits) && same(features, other.features);
  }
};

Answer answer_of(Session& session, const Input& input, int batch) {
  Answer answer{std::vector<float>(static_cast<std::size_t>(batch * kClasses)),
                std::vector<float>(static_cast<std::size_t>(batch * kFeatures))};
  session.run(input, batch, {answer.logits, answer.features});
  return answer;
}

class CpuPlan : public testing::Test {
 protected:
  std::shared_ptr<const graph::Graph> graph_ = small_network();
  Target target_ = parse_target("cpu");
};

TEST_F(CpuPlan, SameBitsForAnyBatchAndNumberOfThreads) {
  constexpr int kMost = 5;
  const std::vector<float> input = images(kMost);
  const auto alone = lower(graph_, target_, options_of(1, 1))->make_session();
  Answer want;
  for (int i = 0; i < kMost; ++i) {
    const Answer one = answer_of(*alone,
                                 {{},
                                  std::span(input).subspan(static_cast<std::size_t>(i * kPixels),
                                                           static_cast<std::size_t>(kPixels))},
                                 1);
    want.logits.insert(want.logits.end(), one.logits.begin(), one.logits.end());
    want.features.insert(want.features.end(), one.features.begin(), one.features.end());
  }
  for (const int threads : {1, 2, 3, 8}) {
    const auto session = lower(graph_, target_, options_of(threads, kMost))->make_session();
    for (int batch = 1; batch <= kMost; ++batch) {
      const Answer got = answer_of(
          *session, {{}, std::span(input).first(static_cast<std::size_t>(batch * kPixels))}, batch);
      const Answer part{{want.logits.begin(), want.logits.begin() + batch * kClasses},
                        {want.features.begin(), want.features.begin() + batch * kFeatures}};
      EXPECT_TRUE(got == part) << threads << " threads, batch " << batch;
    }
  }
}

TEST_F(CpuPlan, PixelsAreNormalizedInTheCall) {
  const auto session = lower(graph_, target_, options_of(2, 2))->make_session();
  std::vector<std::uint8_t> rgb(static_cast<std::size_t>(2 * kPixels));
  std::vector<float> tensor(rgb.size());
  const Normalization normalization = options_of(1, 1).normalization;
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    rgb[i] = static_cast<std::uint8_t>(i * 37);
    tensor[i] = (static_cast<float>(rgb[i]) / 255.0F - normalization.mean[i % 3]) /
                normalization.std[i % 3];
  }
  EXPECT_TRUE(answer_of(*session, {rgb, {}}, 2) == answer_of(*session, {{}, tensor}, 2));
}

TEST_F(CpuPlan, TraceAndProfileComputeWhatRunDoes) {
  const auto plan = lower(graph_, target_, options_of(2, 2));
  const auto session = plan->make_session();
  const std::vector<float> input = images(2);
  const Answer want = answer_of(*session, {{}, input}, 2);
  std::vector<float> logits;
  session->trace({{}, input}, 2,
                 [&](const graph::Value& value, int batch, std::span<const float> numbers) {
                   EXPECT_EQ(batch, 2);
                   if (value.name == graph_->value(graph_->output("logits")).name) {
                     logits.assign(numbers.begin(), numbers.end());
                   }
                 });
  EXPECT_EQ(logits, want.logits);
  std::vector<double> seconds(plan->steps().size());
  session->profile({{}, input}, 2, seconds);
  for (const double s : seconds) EXPECT_GT(s, 0.0);
  EXPECT_TRUE(answer_of(*session, {{}, input}, 2) == want);
}

TEST_F(CpuPlan, ARunAllocatesNothing) {
  for (const int threads : {1, 2}) {
    for (const int level : {0, 1}) {
      const auto session = lower(graph_, target_, options_of(threads, 4, level))->make_session();
      const std::vector<float> input = images(4);
      std::vector<float> logits(4 * kClasses);
      for (const int batch : {1, 4}) {
        const Input part{{}, std::span(input).first(static_cast<std::size_t>(batch * kPixels))};
        const Results results{std::span(logits).first(static_cast<std::size_t>(batch * kClasses)),
                              {}};
        // The calling thread is worker 0 and does what the others do.
        const std::size_t before = test::allocations.count;
        session->run(part, batch, results);
        EXPECT_EQ(test::allocations.count - before, 0U) << threads << " threads, batch " << batch;
      }
    }
  }
}

TEST_F(CpuPlan, ARunWithNarrowOperandsAllocatesNothing) {
  for (const graph::Precision precision : {graph::Precision::bf16, graph::Precision::int8}) {
    const auto graph = std::make_shared<const graph::Graph>(narrow_transformer_block(precision));
    const auto session = lower(graph, target_, options_of(2, 1, 1))->make_session();
    const std::vector<float> input(5 * 9 * 3, 0.5F);
    std::vector<float> logits(45 * 24);
    const std::size_t before = test::allocations.count;
    session->run({{}, input}, 1, {logits, {}});
    EXPECT_EQ(test::allocations.count - before, 0U) << graph::name(precision);
  }
}

TEST_F(CpuPlan, SessionsOfOnePlanDoNotDisturbEachOther) {
  const auto plan = lower(graph_, target_, options_of(1, 1));
  const auto first = plan->make_session();
  const auto second = plan->make_session();
  const std::vector<float> input = images(2);
  const Input one{{}, std::span(input).first(kPixels)};
  const Input other{{}, std::span(input).last(kPixels)};
  const Answer want = answer_of(*first, one, 1);
  EXPECT_FALSE(answer_of(*second, other, 1) == want);
  EXPECT_TRUE(answer_of(*first, one, 1) == want);
}

TEST_F(CpuPlan, StepsAccountForTheWholeNetwork) {
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
  for (const graph::Node& node : graph_->nodes) {
    flops += count_flops(*graph_, node);
    bytes += constant_bytes(*graph_, node);
  }
  for (const int level : {0, 1}) {
    const auto plan = lower(graph_, target_, options_of(1, 1, level));
    std::uint64_t stated = 0;
    std::uint64_t stored = 0;
    for (const StepInfo& step : plan->steps()) {
      stated += step.flops;
      stored += step.weight_bytes;
    }
    EXPECT_EQ(stated, flops) << "level " << level;
    EXPECT_EQ(stored, bytes) << "level " << level;
  }
}

TEST_F(CpuPlan, SaysWhatItIs) {
  EXPECT_EQ(lower(graph_, target_, options_of(2, 1))->description(),
            "cpu " + std::string(name(active_isa())) + ", 2 threads");
  EXPECT_EQ(lower(graph_, target_, options_of(1, 1))->description(),
            "cpu " + std::string(name(active_isa())) + ", 1 thread");
}

void expect_refused(Session& session, const Input& input, int batch, const Results& results,
                    const std::string& text) {
  try {
    session.run(input, batch, results);
    FAIL() << "accepted; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST_F(CpuPlan, RefusesCallsThatDoNotFit) {
  const auto session = lower(graph_, target_, options_of(1, 2))->make_session();
  const std::vector<float> input = images(3);
  const std::vector<std::uint8_t> rgb(kPixels);
  std::vector<float> out(100);
  const Input one{{}, std::span(input).first(kPixels)};
  const Results logits{std::span(out).first(kClasses), {}};
  expect_refused(*session, one, 0, logits, "batch of 0");
  expect_refused(*session, {{}, input}, 3, logits, "batch of 3");
  expect_refused(*session, one, 2, logits, "input");
  expect_refused(*session, {}, 1, logits, "exactly one");
  expect_refused(*session, {rgb, one.tensor}, 1, logits, "exactly one");
  expect_refused(*session, one, 1, {std::span(out).first(3), {}}, "logits");
  expect_refused(*session, one, 1, {{}, std::span(out).first(5)}, "features");
}

TEST_F(CpuPlan, RefusesToRunOnAnotherInstructionSet) {
  if (supported_isas().size() < 2) GTEST_SKIP() << "this machine supports one set only";
  const Isa before = active_isa();
  const auto session = lower(graph_, target_, options_of(1, 1))->make_session();
  use_isa(supported_isas().back());
  const std::vector<float> input = images(1);
  EXPECT_THROW(session->run({{}, input}, 1, {}), Error);
  use_isa(before);
  EXPECT_NO_THROW(session->run({{}, input}, 1, {}));
}

}  // namespace
}  // namespace assay::backend::cpu
