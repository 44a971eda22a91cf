#include "pipeline/score.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay::pipeline {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
using Logits = std::vector<float>;

TEST(Score, TopKCountsTiesByLowerIndex) {
  EXPECT_TRUE(among_best(Logits{1, 2, 2}, 1, 1));
  EXPECT_FALSE(among_best(Logits{1, 2, 2}, 2, 1));
  EXPECT_TRUE(among_best(Logits{1, 2, 2}, 2, 2));
  EXPECT_FALSE(among_best(Logits{1, 2, 3, 4, 5, 6}, 0, 5));
  EXPECT_TRUE(among_best(Logits{1, 2, 3, 4, 5, 6}, 1, 5));
  EXPECT_EQ(best_of(Logits{kNan, -kInfinity, 1, 1}), 2);
}

TEST(Score, CountsTop1AndTop5) {
  Score score;
  score.add(Logits{9, 8, 7, 6, 5, 4}, 0, {});
  score.add(Logits{9, 8, 7, 6, 5, 4}, 4, {});
  score.add(Logits{9, 8, 7, 6, 5, 4}, 5, {});
  EvalReport report;
  score.report(report, false);
  EXPECT_EQ(report.images, 3u);
  EXPECT_EQ(report.top1_correct, 1u);
  EXPECT_EQ(report.top5_correct, 2u);
  EXPECT_DOUBLE_EQ(report.top1(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.top5(), 2.0 / 3);
  EXPECT_FALSE(report.reference);
}

TEST(Score, AnImageThatIsNotFiniteIsCountedAndNeverRight) {
  Score score;
  score.add(Logits{kNan, 0}, 1, {});
  score.add(Logits{0, kInfinity}, 1, {});
  score.add(Logits{0, 1}, 1, {});
  EvalReport report;
  score.report(report, false);
  EXPECT_EQ(report.nonfinite, 2u);
  EXPECT_EQ(report.top1_correct, 1u);
  EXPECT_EQ(report.top5_correct, 1u);
}

TEST(Score, ComparesWithTheReference) {
  Score score;
  score.add(Logits{1, 2}, 0, Logits{1, 2.5F});
  score.add(Logits{1, 2}, 0, Logits{2.25F, 2});  // another top-1, by a narrow margin
  EvalReport report;
  score.report(report, true);
  EXPECT_EQ(report.reference->agreeing, 1u);
  EXPECT_EQ(report.reference->agreement, 0.5);
  EXPECT_EQ(report.reference->max_abs_diff, 1.25);
  EXPECT_EQ(report.reference->mean_abs_diff, 1.75 / 4);
  EXPECT_EQ(report.reference->decided_disagreements, 0u);
}

TEST(Score, ANumberAgainstNoNumberIsInfinitelyFar) {
  Score score;
  score.add(Logits{kNan, 2}, 0, Logits{1, 2});
  EvalReport report;
  score.report(report, true);
  EXPECT_EQ(report.reference->max_abs_diff, std::numeric_limits<double>::infinity());
  Score same;
  same.add(Logits{kNan, kInfinity}, 0, Logits{kNan, kInfinity});
  same.report(report, true);
  EXPECT_EQ(report.reference->max_abs_diff, 0);
}

TEST(Score, NothingCountedIsNoShare) {
  EXPECT_EQ(EvalReport{}.top1(), 0);
  EXPECT_EQ(EvalReport{}.top5(), 0);
}

}  // namespace
}  // namespace assay::pipeline
