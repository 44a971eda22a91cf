#include "study/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fixtures/example_study.h"

namespace assay::study {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ComparedVariant& pair_of(const Comparison& comparison, const std::string& variant) {
  for (const ComparedVariant& pair : comparison.variants) {
    if (pair.first->name == variant) return pair;
  }
  throw std::out_of_range(variant);
}

void scale_speed(Study& study, double by) {
  for (SpeedRow& row : study.models[0].variants[1].speed.batch) {
    if (!row.ratio_to_fp32) continue;
    row.ratio_to_fp32->value *= by;
    row.ratio_to_fp32->interval.low *= by;
    row.ratio_to_fp32->interval.high *= by;
  }
}

TEST(StudyCompare, AStudyEqualsItself) {
  const Study study = example_study();
  const Comparison comparison = compare(study, study);
  EXPECT_THAT(comparison.cautions, IsEmpty());
  ASSERT_EQ(comparison.variants.size(), 7U);
  for (const ComparedVariant& pair : comparison.variants) {
    EXPECT_EQ(pair.quality, Agreement::equal);
    EXPECT_EQ(pair.speed, pair.first->speed.empty() ? Agreement::not_measured : Agreement::holds);
    EXPECT_TRUE(pair.same_verdict);
  }
  const std::string text = compare_text(comparison);
  EXPECT_THAT(text, HasSubstr("Everything can."));
  EXPECT_THAT(text, HasSubstr("- The decision differs for nothing.\n"));
}

TEST(StudyCompare, SeesTheLastDigitOfQuality) {
  const Study study = example_study();
  Study other = study;
  other.models[0].variants[1].quality.sqnr_db.value += 1e-12;
  other.models[0].variants[1].verdict = {false, {"worse"}, {"sqnr_db"}};
  const Comparison comparison = compare(study, other);
  EXPECT_EQ(pair_of(comparison, "bf16").quality, Agreement::differs);
  EXPECT_FALSE(pair_of(comparison, "bf16").same_verdict);
  EXPECT_EQ(pair_of(comparison, "nvfp4-weights").quality, Agreement::equal);
  EXPECT_THAT(compare_text(comparison),
              HasSubstr("Quality that should be equal differs for `tiny_vit` `bf16`."));
}

TEST(StudyCompare, DoesNotJudgeQualityOfAnotherInstructionSet) {
  const Study study = example_study();
  Study other = study;
  other.machine.isa = "another";
  other.models[0].variants[1].quality.sqnr_db.value += 1e-12;
  const Comparison comparison = compare(study, other);
  EXPECT_EQ(pair_of(comparison, "bf16").quality, Agreement::not_judged);
  EXPECT_EQ(pair_of(comparison, "nvfp4-weights").quality, Agreement::equal);
}

TEST(StudyCompare, ToleratesSpeedWithinTenPercent) {
  const Study study = example_study();
  for (const auto& [by, expected] : {std::pair{1.09, Agreement::holds},
                                     {0.92, Agreement::holds},
                                     {1.2, Agreement::differs},
                                     {0.8, Agreement::differs}}) {
    Study other = study;
    scale_speed(other, by);
    EXPECT_EQ(pair_of(compare(study, other), "bf16").speed, expected) << by;
  }
}

TEST(StudyCompare, DoesNotJudgeSpeedAcrossProcessors) {
  const Study study = example_study();
  Study other = study;
  other.machine.cpu_model = "Another | processor";
  scale_speed(other, 3);
  const Comparison comparison = compare(study, other);
  EXPECT_EQ(pair_of(comparison, "bf16").speed, Agreement::not_judged);
  EXPECT_EQ(pair_of(comparison, "bf16").quality, Agreement::equal);
  EXPECT_THAT(comparison.cautions, Contains(HasSubstr("The processors differ")));
  EXPECT_THAT(compare_text(comparison), HasSubstr("Another \\| processor"));
}

TEST(StudyCompare, SaysWhatCannotBeCompared) {
  const Study study = example_study();
  Study other = study;
  other.data.held_out.stride = 2;
  other.models[1].name = "third";
  other.models[0].variants.pop_back();
  other.models[0].variants[1].threads = 1;
  other.models[0].variants[2].recipe = "another";
  const Comparison comparison = compare(study, other);
  EXPECT_THAT(comparison.cautions, Contains(HasSubstr("held-out images differ")));
  EXPECT_THAT(comparison.cautions, Contains("Model `tiny_conv` is in the first study only."));
  EXPECT_THAT(comparison.cautions, Contains("Model `third` is in the second study only."));
  EXPECT_THAT(comparison.cautions,
              Contains("`tiny_vit`: variant `nvfp4-weights` is in the first study only."));
  EXPECT_THAT(comparison.cautions, Contains(HasSubstr("`int8-cpu` is another build")));
  EXPECT_EQ(pair_of(comparison, "bf16").quality, Agreement::not_judged);
  EXPECT_EQ(pair_of(comparison, "bf16").speed, Agreement::not_judged);
}

TEST(StudyCompare, NeedsNoModels) {
  Study none = example_study();
  none.models.clear();
  EXPECT_THAT(compare_text(compare(none, none)), HasSubstr("No variant is in both studies."));
}

}  // namespace
}  // namespace assay::study
