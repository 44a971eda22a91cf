#include "study/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::study {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::map<std::string, double> kThresholds{
    {"agreement", 0.99}, {"top1_drop", 0.005}, {"speedup", 1.1}, {"sqnr_db", 25}};
const Reference kReference{"cpu fp32", "", "", Estimate{0.9, {0.89, 0.91}}};

Variant fp32() {
  Variant variant;
  variant.name = "fp32";
  variant.nonfinite = NonFinite{0, {{"black", true, 3}, {"huge", false, 0}}, {}};
  return variant;
}

Variant good() {
  Variant variant = fp32();
  variant.name = "int8";
  variant.quality.images = 1000;
  variant.quality.top1 = 0.897;
  variant.quality.top1_interval = {0.88, 0.91};
  variant.quality.agreement_fp32 = {0.995, {0.988, 0.998}};
  variant.quality.sqnr_db = {30, {29.5, 30.5}};
  variant.speed.batch = {{8, "call", 1, {}, Estimate{1.05, {}}, {1}},
                         {1, "device", 1, {}, Estimate{1.0, {}}, {1}},
                         {1, "call", 1, {}, Estimate{1.6, {1.05, 1.7}}, {1}}};
  return variant;
}

Verdict judged(const Variant& variant) { return verdict(variant, fp32(), kReference, kThresholds); }

TEST(Verdict, ShipsWhatMeetsEveryThreshold) {
  const Verdict made = judged(good());
  EXPECT_TRUE(made.ship);
  EXPECT_THAT(made.failed, IsEmpty());
  EXPECT_THAT(made.reasons, testing::SizeIs(4));
  EXPECT_THAT(made.reasons[0], HasSubstr("99.50% (98.80–99.80%) of 1000 images"))
      << "judged by the point estimate";
  EXPECT_THAT(made.reasons[1], HasSubstr("89.70% (88.00–91.00%), the reference's 90.00%"));
  EXPECT_THAT(made.reasons[2], HasSubstr("30.0 dB (29.5–30.5 dB)"));
  EXPECT_THAT(made.reasons[3], HasSubstr("batch 1 is 1.60× (1.05–1.70×)"))
      << "the smallest batch's call";
}

TEST(Verdict, ADropOfJustWhatIsAllowedIsAllowed) {
  Variant variant = good();
  variant.quality.top1 = 0.895;
  EXPECT_GT(kReference.top1->value - variant.quality.top1, 0.005) << "by rounding";
  EXPECT_TRUE(judged(variant).ship);
  variant.quality.top1 = 0.8949;
  EXPECT_FALSE(judged(variant).ship);
}

TEST(Verdict, NamesEachThresholdThatFails) {
  Variant variant = good();
  variant.quality.agreement_fp32.value = 0.98;
  variant.quality.top1 = 0.88;
  variant.quality.sqnr_db.value = 20;
  variant.speed.batch.back().ratio_to_fp32->value = 1.0;
  EXPECT_THAT(judged(variant).failed, ElementsAre("agreement", "top1_drop", "sqnr_db", "speedup"));
  EXPECT_FALSE(judged(variant).ship);
}

TEST(Verdict, WhatWasNotMeasuredIsNotMet) {
  Variant variant = good();
  variant.speed.batch.clear();
  variant.speed_reason = "fp8 is emulated";
  const Verdict made = judged(variant);
  EXPECT_THAT(made.failed, ElementsAre("speedup"));
  EXPECT_THAT(made.reasons.back(), HasSubstr("fp8 is emulated"));
  EXPECT_TRUE(verdict(variant, fp32(), kReference, {{"agreement", 0.99}}).ship)
      << "a threshold that there is not judges nothing";
}

TEST(Verdict, NumbersMustBeFiniteWhereFp32IsFinite) {
  EXPECT_TRUE(judged(good()).ship) << "fp32 fails on the same stress input";
  Variant variant = good();
  variant.nonfinite->stress[0].finite = false;
  EXPECT_THAT(judged(variant).failed, ElementsAre("finite"));
  variant.nonfinite->stress[0].finite = true;
  variant.nonfinite->held_out = 2;
  EXPECT_THAT(judged(variant).failed, ElementsAre("finite"));
}

TEST(Verdict, Fp32IsWhatTheOthersAreComparedWith) {
  EXPECT_TRUE(judged(fp32()).ship);
  EXPECT_THAT(judged(fp32()).reasons, ElementsAre("It is what the others are compared with."));
  Reference file = kReference;
  file.kind = "file";
  EXPECT_THAT(verdict(fp32(), fp32(), file, kThresholds).reasons,
              ElementsAre(HasSubstr("their quality is another program's logits")));
  Variant broken = fp32();
  broken.nonfinite->held_out = 1;
  EXPECT_FALSE(judged(broken).ship);
}

}  // namespace
}  // namespace assay::study
