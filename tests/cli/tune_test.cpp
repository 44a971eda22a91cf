/// assay tune, and what the others make of a tuned bundle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"

namespace assay::cli_test {
namespace {

using testing::HasSubstr;

std::vector<float> logits_of(const std::string& bundle) {
  const Outcome outcome = assay(
      {"run", bundle, source("examples/images/bag.jpg"), "--threads", "1", "--output", "logits"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  std::istringstream line(outcome.out.substr(outcome.out.find('\t') + 1));
  std::vector<float> logits{std::istream_iterator<float>(line), std::istream_iterator<float>()};
  EXPECT_EQ(logits.size(), 10U);
  return logits;
}

TEST(Tune, KeepsWhatItMeasuredAndAnswersAlikeEveryTime) {
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

  // Another tactic adds in another order: the last bits may differ from the untuned bundle's, never
  // from one run of the tuned bundle to the next.
  const std::vector<float> before = logits_of(bundle());
  const std::vector<float> after = logits_of(tuned);
  EXPECT_EQ(after, logits_of(tuned));
  EXPECT_THAT(after, testing::Pointwise(testing::FloatNear(1e-4F), before));
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
