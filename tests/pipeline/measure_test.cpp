#include "pipeline/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "assay/error.h"

namespace assay::pipeline {
namespace {

using testing::ElementsAre;

TEST(Measure, RoundsAreInterleavedAndBeginWithAnotherOneEachTime) {
  std::string order;
  const std::vector<Candidate> candidates{{"a", [&](int) { order += 'a'; }},
                                          {"b", [&](int) { order += 'b'; }},
                                          {"c", [&](int) { order += 'c'; }}};
  measure(candidates, {.warmup = 1, .iterations = 3});
  EXPECT_EQ(order,
            "abc"
            "bca"
            "cab"
            "abc");
}

TEST(Measure, KeepsOneSampleAnIterationAndNoneOfTheWarmUp) {
  std::vector<int> iterations;
  int rounds = 0;
  const std::vector<Candidate> candidates{{"a", [&](int i) { iterations.push_back(i); }}};
  const std::vector<Timing> timings =
      measure(candidates, {.warmup = 2, .iterations = 3}, [&] { ++rounds; });
  EXPECT_THAT(iterations, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(rounds, 5);
  ASSERT_EQ(timings.size(), 1U);
  EXPECT_EQ(timings[0].name, "a");
  EXPECT_EQ(timings[0].seconds.size(), 3U);
  for (const double seconds : timings[0].seconds) EXPECT_GE(seconds, 0);
}

TEST(Measure, QuotesTheMedianWithItsInterval) {
  const Timing timing{"a", {5, 1, 3, 2, 4}};
  EXPECT_EQ(timing.median(), 3);
  EXPECT_LE(timing.interval().low, 3);
  EXPECT_GE(timing.interval().high, 3);
}

TEST(Measure, RefusesToMeasureNothing) {
  const std::vector<Candidate> candidates{{"a", [](int) {}}};
  EXPECT_THROW(measure(candidates, {.warmup = 0, .iterations = 0}), Error);
  EXPECT_THROW(measure(candidates, {.warmup = -1, .iterations = 1}), Error);
}

TEST(Measure, WhatACandidateThrowsArrives) {
  const std::vector<Candidate> candidates{{"a", [](int) { throw std::runtime_error("broken"); }}};
  EXPECT_THROW(measure(candidates, {}), std::runtime_error);
}

}  // namespace
}  // namespace assay::pipeline
