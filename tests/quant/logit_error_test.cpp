#include "quant/logit_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "assay/error.h"

namespace assay::quant {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(LogitError, IsTheFormulas) {
  const std::vector<float> reference{3, 0, 4, 0, 1, 0};
  const std::vector<float> x{3, 1, 4, 2, 1, 0};
  const LogitError error = logit_error(reference, x, 3);
  EXPECT_NEAR(error.sqnr_db, 10 * std::log10(26.0 / 5.0), 1e-12);
  EXPECT_EQ(error.agreement, 0.5);
  // By NumPy: mean over the two images of sum(softmax(r) * (log_softmax(r) - log_softmax(x))).
  EXPECT_NEAR(error.kl, 0.220757, 1e-6);
}

TEST(LogitError, EqualLogitsHaveNoNoise) {
  const std::vector<float> logits{1, 2, 3, -4};
  const LogitError error = logit_error(logits, logits, 2);
  EXPECT_EQ(error.sqnr_db, std::numeric_limits<double>::infinity());
  EXPECT_EQ(error.agreement, 1.0);
  EXPECT_EQ(error.kl, 0.0);
}

TEST(LogitError, LogitsThatAreNotFiniteNeverAgree) {
  const std::vector<float> reference{1, 2, 3, 4};
  const std::vector<float> x{1, 2, kNan, 4};
  const LogitError error = logit_error(reference, x, 2);
  EXPECT_EQ(error.sqnr_db, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(error.agreement, 0.5);
  EXPECT_EQ(error.kl, std::numeric_limits<double>::infinity());
}

TEST(LogitError, LargeLogitsDoNotOverflow) {
  const std::vector<float> reference{1e4F, 0};
  const std::vector<float> x{0, 1e4F};
  EXPECT_NEAR(logit_error(reference, x, 2).kl, 1e4, 1e-6);
}

TEST(LogitError, IntervalsHoldTheFigureAndNarrowWithImages) {
  std::vector<float> reference;
  std::vector<float> x;
  for (int i = 0; i < 400; ++i) {
    const auto step = static_cast<float>(i % 7);
    reference.insert(reference.end(), {step, 1, 2});
    x.insert(x.end(), {step + 0.01F * static_cast<float>(i % 5), 1, 2.02F});
  }
  const auto errors = image_errors(reference, x, 3);
  const LogitError all = summarize(errors);
  const LogitErrorIntervals wide = intervals(std::span(errors).first(40));
  const LogitErrorIntervals narrow = intervals(errors);
  EXPECT_LT(narrow.sqnr_db.low, all.sqnr_db);
  EXPECT_GT(narrow.sqnr_db.high, all.sqnr_db);
  EXPECT_LT(narrow.kl.low, all.kl);
  EXPECT_GT(narrow.kl.high, all.kl);
  EXPECT_LT(narrow.sqnr_db.high - narrow.sqnr_db.low, wide.sqnr_db.high - wide.sqnr_db.low);
  EXPECT_LE(narrow.agreement.low, all.agreement);
}

TEST(LogitError, RefusesWhatDoesNotFit) {
  const std::vector<float> three{1, 2, 3};
  const std::vector<float> bad{1, kNan};
  EXPECT_THROW(static_cast<void>(logit_error(three, three, 2)), Error);
  EXPECT_THROW(static_cast<void>(logit_error(three, bad, 1)), Error);
  EXPECT_THROW(static_cast<void>(logit_error(bad, bad, 2)), Error);
  EXPECT_THROW(static_cast<void>(logit_error({}, {}, 2)), Error);
}

}  // namespace
}  // namespace assay::quant
