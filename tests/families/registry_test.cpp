#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/error.h"
#include "families/families.h"
#include "families/tables.h"

namespace assay::families {
namespace {

/// The refusal of an architecture that there is no family for.
std::string refusal(const std::string& architecture) {
  const checkpoint::Weights none;
  const checkpoint::ModelConfig config = config_of(architecture);
  try {
    build({config, none, 240, 240});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), testing::HasSubstr("'" + architecture + "' is not supported"));
    return error.what();
  }
  ADD_FAILURE() << architecture << " was accepted";
  return "";
}

TEST(Registry, NamesTheNearestArchitecturesFirst) {
  EXPECT_THAT(refusal("crossvit_9_dagger_240"), testing::HasSubstr("that are: crossvit_9_240, "));
  EXPECT_THAT(refusal("crossvit_15_dagger_408"), testing::HasSubstr("that are: crossvit_15_240, "));
  EXPECT_THAT(refusal("mobilevitv2_050"), testing::ContainsRegex("mobilevit_x*s"));
  EXPECT_THAT(refusal("mobilevit_xxxs"), testing::HasSubstr("that are: mobilevit_xxs, "));
  EXPECT_THAT(refusal("semobilevit_s"), testing::HasSubstr("that are: mobilevit_s, "));
}

TEST(Registry, RefusesNamesOfAnyKind) {
  refusal("");
  refusal("resnet50");
  refusal("CROSSVIT_9_240");
  refusal("crossvit_9_240_");
  const std::string endless(100000, 'a');
  const checkpoint::Weights none;
  const checkpoint::ModelConfig config = config_of(endless);
  try {
    build({config, none, 240, 240});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_LT(std::string(error.what()).size(), 400U);
  }
}

TEST(Registry, TakesANameWithATagAsTimmDoes) {
  const checkpoint::Weights weights = zero_weights("mobilevit_xxs");
  const checkpoint::ModelConfig config = config_of("mobilevit_xxs.cvnets_in1k");
  EXPECT_EQ(build({config, weights, 256, 256}).name, "mobilevit_xxs");
}

TEST(Registry, EveryFamilySaysWhatItIs) {
  for (const Family& family : all()) {
    EXPECT_THAT(std::string(family.description), testing::HasSubstr("arXiv"));
    EXPECT_FALSE(family.architectures.empty());
  }
}

}  // namespace
}  // namespace assay::families
