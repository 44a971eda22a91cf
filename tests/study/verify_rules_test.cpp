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

/// fp32 and `second`, the latter on the reference backend.
Spec two_variants(const std::string& second) {
  return parse_spec(
      "name = \"s\"\ntitle = \"t\"\nquestion = \"q\"\ndata = \"d\"\n[[model]]\nname = \"m\"\n"
      "checkpoint = \"c\"\n[[variant]]\nname = \"fp32\"\nrecipe = \"fp32\"\nthreads = 2\n"
      "[[variant]]\nname = \"" +
          second + "\"\nrecipe = \"bf16\"\nbackend = \"reference\"\n",
      "s.toml", "");
}

Variant recorded(const std::string& name, const std::string& backend, std::uint64_t threads) {
  Variant variant;
  variant.name = name;
  variant.backend = backend;
  variant.threads = threads;
  return variant;
}

TEST(VerifyRules, VariantsAreThoseOfTheSpecification) {
  const Spec spec = two_variants("bf16");
  Model model;
  model.variants = {recorded("fp32", "cpu", 2), recorded("bf16", "reference", 1)};
  EXPECT_THAT(differing_variants(spec, model), IsEmpty());
  EXPECT_THAT(differing_variants(two_variants("half"), model),
              ElementsAre("variant 2 is 'half' in the specification and 'bf16' in the record"));
  model.variants[0].threads = 4;
  model.variants[1].backend = "cpu";
  EXPECT_THAT(
      differing_variants(spec, model),
      ElementsAre("variant 'fp32': threads is 2 in the specification and 4 in the record",
                  "variant 'bf16': backend is reference in the specification and cpu in the "
                  "record"));
  model.variants = {recorded("fp32", "cpu", 2)};
  EXPECT_THAT(differing_variants(spec, model), ElementsAre("the record lacks the variant 'bf16'"));
  model.variants = {recorded("fp32", "cpu", 2), recorded("bf16", "reference", 1),
                    recorded("more", "cpu", 2)};
  EXPECT_THAT(differing_variants(spec, model),
              ElementsAre("the specification lacks the variant 'more'"));
}

}  // namespace
}  // namespace assay::study
