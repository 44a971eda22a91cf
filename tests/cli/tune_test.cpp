/// assay tune, and what the others make of a tuned bundle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace assay::cli_test {
namespace {

using testing::HasSubstr;

TEST(Tune, KeepsWhatItMeasuredAndAnswersAsBefore) {
  const std::string tuned = scratch("tuned.assay");
  const Outcome outcome =
      assay({"tune", bundle(), "-o", tuned, "--threads", "1", "--runs", "3", "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  EXPECT_EQ(json["bundle"], tuned);
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["runs"], 3);
  EXPECT_GT(json["plans"], 1);
  EXPECT_GT(json["default_ms"], 0);
  EXPECT_GT(json["tuned_ms"], 0);

  const Outcome here = assay({"inspect", tuned, "--threads", "1"});
  EXPECT_THAT(here.out, HasSubstr("steps tuned for"));
  const Outcome other = assay({"inspect", tuned, "--threads", "2"});
  EXPECT_THAT(other.out, HasSubstr("it runs as level 1"));
  EXPECT_EQ(assay({"verify", tuned}).exit, 0);

  const std::string image = source("examples/images/bag.jpg");
  const Outcome before = assay({"run", bundle(), image, "--threads", "1", "--output", "logits"});
  const Outcome after = assay({"run", tuned, image, "--threads", "1", "--output", "logits"});
  EXPECT_EQ(after.exit, 0) << after.err;
  EXPECT_EQ(after.out, before.out);
}

TEST(Tune, RefusesALevelWithoutFusedSteps) {
  const std::string plain = scratch("level0.assay");
  ASSERT_EQ(assay({"build", source("examples/mobilevit_xxs.fashion_mnist"), "-o", plain,
                   "--opt-level", "0"})
                .exit,
            0);
  const Outcome outcome = assay({"tune", plain});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("level 0"));
}

}  // namespace
}  // namespace assay::cli_test
