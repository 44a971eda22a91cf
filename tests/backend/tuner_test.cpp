#include "backend/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "assay/error.h"
#include "backend/cpu_random_graph.h"

namespace assay::backend {
namespace {

using cpu::GraphMaker;
using graph::Activation;
using graph::ValueId;

std::shared_ptr<const graph::Graph> inverted_residuals() {
  GraphMaker make(3);
  ValueId x =
      make.conv(make.input({40, 40, 3}), 8, 3, {.padding = {1, 1}, .activation = Activation::silu});
  for (int i = 0; i < 2; ++i) {
    const ValueId wide = make.conv(x, 64, 1, {.activation = Activation::silu});
    const ValueId deep =
        make.conv(wide, 64, 3, {.padding = {1, 1}, .groups = 64, .activation = Activation::silu});
    x = make.conv(deep, 8, 1, {}, true, x);
  }
  return std::make_shared<const graph::Graph>(
      make.finish(make.linear(make.node(graph::Mean{{0, 1}}, {x}), 5)));
}

std::vector<float> logits_of(const Plan& plan) {
  std::vector<float> input(40 * 40 * 3);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = 0.01F * static_cast<float>(i % 97);
  std::vector<float> logits(5);
  plan.make_session()->run({{}, input}, 1, {logits, {}});
  return logits;
}

const StepInfo* step_with_choices(const Plan& plan) {
  const auto found =
      std::ranges::find_if(plan.steps(), [](const StepInfo& s) { return !s.choices.empty(); });
  return found == plan.steps().end() ? nullptr : &*found;
}

TEST(Tuner, EveryChoiceOfAStepComputesTheSame) {
  const auto graph = inverted_residuals();
  LowerOptions options;
  options.threads = 1;
  const auto plain = lower(graph, parse_target("cpu"), options);
  const StepInfo* const step = step_with_choices(*plain);
  ASSERT_NE(step, nullptr);
  options.optimization_level = 3;
  for (const std::string& choice : step->choices) {
    options.tactics = {{step->name, choice}};
    EXPECT_EQ(logits_of(*lower(graph, parse_target("cpu"), options)), logits_of(*plain)) << choice;
  }
}

TEST(Tuner, WhatItFindsCanBeLowered) {
  const auto graph = inverted_residuals();
  LowerOptions options;
  options.threads = 2;
  int done = 0;
  int total = 0;
  const Tuned tuned = tune(graph, parse_target("cpu"), options, {3, [&](int now, int all) {
                                                                   done = now;
                                                                   total = all;
                                                                 }});
  EXPECT_EQ(done, total);
  EXPECT_GT(tuned.plans, 0);
  EXPECT_GT(tuned.default_seconds, 0);
  EXPECT_GT(tuned.tuned_seconds, 0);
  options.optimization_level = 3;
  options.tactics = tuned.tactics;
  const auto plan = lower(graph, parse_target("cpu"), options);
  EXPECT_EQ(logits_of(*plan), logits_of(*lower(graph, parse_target("cpu"), options)));
}

void expect_refusal(const LowerOptions& options, ErrorKind kind, std::string_view words) {
  try {
    lower(inverted_residuals(), parse_target("cpu"), options);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_NE(std::string_view(error.what()).find(words), std::string_view::npos) << error.what();
  }
}

TEST(Tuner, TacticsThatFitNoStepAreRefused) {
  LowerOptions options;
  options.optimization_level = 3;
  options.tactics = {{"no such step", "gemm"}};
  expect_refusal(options, ErrorKind::unsupported, "no such step");
  const auto plan = lower(inverted_residuals(), parse_target("cpu"), LowerOptions());
  options.tactics = {{step_with_choices(*plan)->name, "by magic"}};
  expect_refusal(options, ErrorKind::unsupported, "by magic");
  options.optimization_level = 1;
  expect_refusal(options, ErrorKind::bad_input, "level 3");
}

TEST(Tuner, ABackendWithoutTacticsTakesNone) {
  LowerOptions options;
  options.optimization_level = 3;
  options.tactics = {{"any", "gemm"}};
  try {
    lower(inverted_residuals(), parse_target("reference"), options);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

TEST(Tuner, UnknownLevelsAreRefused) {
  for (const int level : {2, 4, 5}) {
    LowerOptions options;
    options.optimization_level = level;
    expect_refusal(options, ErrorKind::unsupported, std::to_string(level));
  }
}

}  // namespace
}  // namespace assay::backend
