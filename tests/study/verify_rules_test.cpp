#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "study/verify.h"

namespace assay::study {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Quality some_quality() {
  Quality quality;
  quality.images = 10;
  quality.top1 = 0.1 + 0.2;
  quality.sqnr_db = {std::numeric_limits<double>::infinity(), {1, 2}};
  quality.agreement_fp16 = Estimate{0.5, {0.4, 0.6}};
  return quality;
}

TEST(VerifyRules, QualityIsEqualToTheLastDigitOrNot) {
  const Quality recorded = some_quality();
  EXPECT_THAT(differing(recorded, some_quality()), IsEmpty());
  Quality found = some_quality();
  found.top1 = 0.3;  // not 0.1 + 0.2
  EXPECT_THAT(differing(recorded, found), ElementsAre(HasSubstr("top1")));
  found = some_quality();
  found.kl.interval.high = 1e-300;
  EXPECT_THAT(differing(recorded, found), ElementsAre(HasSubstr("kl high")));
  found = some_quality();
  found.agreement_fp16.reset();
  EXPECT_THAT(differing(recorded, found), testing::SizeIs(1));
}

TEST(VerifyRules, ARatioHoldsByOverlapOrWithinATenth) {
  const Estimate recorded{1.50, {1.45, 1.55}};
  EXPECT_TRUE(ratio_holds(recorded, {1.70, {1.54, 1.80}})) << "the intervals overlap";
  EXPECT_TRUE(ratio_holds(recorded, {1.64, {1.60, 1.70}})) << "apart, by less than 10%";
  EXPECT_FALSE(ratio_holds(recorded, {1.70, {1.60, 1.80}}));
  EXPECT_FALSE(ratio_holds(recorded, {1.20, {1.10, 1.30}}));
}

}  // namespace
}  // namespace assay::study
