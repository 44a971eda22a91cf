#include "study/quality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "assay/error.h"

namespace assay::study {
namespace {

/// Four images of three classes; the variant loses image 1 and gains image 3.
struct Four {
  std::vector<float> reference{3, 0, 0, 0, 3, 1, 0, 0, 3, 2, 1, 0};
  std::vector<float> variant{3, 0, 0, 0, 1, 3, 0, 0, 3, 1, 2, 0};
  std::vector<int> labels{0, 1, 2, 1};
  [[nodiscard]] Compared compared() const { return {variant, reference, {}, labels, 3}; }
};

TEST(Quality, CountsWhatIsRightLostAndGained) {
  const Four four;
  const Quality made = quality(four.compared());
  EXPECT_EQ(made.images, 4U);
  EXPECT_EQ(made.top1, 0.75);
  EXPECT_EQ(made.top5, 1.0);
  EXPECT_EQ(made.agreement_fp32.value, 0.5);
  EXPECT_FALSE(made.agreement_fp16.has_value());
  EXPECT_EQ(made.mcnemar.lost, 1U);
  EXPECT_EQ(made.mcnemar.gained, 1U);
  EXPECT_EQ(made.mcnemar.p_value, 1.0);
  EXPECT_EQ(made.max_abs_diff, 2.0);
  EXPECT_NEAR(made.mean_abs_diff, 6.0 / 12, 1e-12);
  EXPECT_NEAR(made.sqnr_db.value, 10 * std::log10(33.0 / 10.0), 1e-12);
}

TEST(Quality, ComparesWithFp16WhereThereIsOne) {
  const Four four;
  Compared logits = four.compared();
  logits.fp16 = four.variant;
  EXPECT_EQ(quality(logits).agreement_fp16->value, 1.0);
}

TEST(Quality, AnImageThatIsNotFiniteIsNeverRight) {
  Four four;
  four.variant[1] = std::numeric_limits<float>::quiet_NaN();
  const Quality made = quality(four.compared());
  EXPECT_EQ(made.top1, 0.5);
  EXPECT_EQ(made.mcnemar.lost, 2U);
  EXPECT_EQ(nonfinite_images(four.variant, 3), 1U);
  EXPECT_EQ(nonfinite_images(four.reference, 3), 0U);
}

TEST(Quality, RefusesLogitsOfOtherSizes) {
  Four four;
  four.variant.pop_back();
  EXPECT_THROW(static_cast<void>(quality(four.compared())), Error);
}

TEST(Changes, AreListedWorstFirstAndCounted) {
  const Four four;
  const std::vector<std::uint64_t> positions{10, 20, 30, 40};
  const Changes all = changes(four.compared(), positions, 24);
  ASSERT_EQ(all.count, 2U);
  EXPECT_EQ(all.worst[0].image, 20U);
  EXPECT_EQ(all.worst[0].reference_margin, 2.0);
  EXPECT_EQ(all.worst[0].reference, 1U);
  EXPECT_EQ(all.worst[0].variant, 2U);
  EXPECT_EQ(all.worst[0].label, 1U);
  EXPECT_EQ(all.worst[1].image, 40U);
  const Changes one = changes(four.compared(), positions, 1);
  EXPECT_EQ(one.worst.size(), 1U);
  EXPECT_EQ(one.count, 2U);
}

TEST(Changes, AreAllImagesThatDoNotAgree) {
  Four four;
  four.variant[2] = std::numeric_limits<float>::infinity();
  four.variant[7] = -std::numeric_limits<float>::infinity();
  const double agreement = quality(four.compared()).agreement_fp32.value;
  const Changes all = changes(four.compared(), std::vector<std::uint64_t>{10, 20, 30, 40}, 24);
  EXPECT_EQ(static_cast<double>(all.count), 4 * (1 - agreement))
      << "image 30 has the reference's class, and a logit that is not finite";
}

TEST(Top1, IsAShareWithItsInterval) {
  const Four four;
  const Estimate estimate = top1(four.reference, four.labels, 3);
  EXPECT_EQ(estimate.value, 0.75);
  EXPECT_LT(estimate.interval.low, 0.75);
  EXPECT_GT(estimate.interval.high, 0.75);
}

}  // namespace
}  // namespace assay::study
