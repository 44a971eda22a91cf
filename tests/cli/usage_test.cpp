/// Wrong words, help, and the verbs that need no bundle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace assay::cli_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

/// Exit 2, nothing on standard output, one line on standard error that says `text`.
void expect_usage_error(const std::vector<std::string>& words, const std::string& text) {
  const Outcome outcome = assay(words);
  EXPECT_EQ(outcome.exit, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, StartsWith("assay: error: "));
  EXPECT_THAT(outcome.err, HasSubstr(text));
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

TEST(Usage, NoVerbNamesThemAll) { expect_usage_error({}, "build, calibrate, tune, run, eval"); }

TEST(Usage, UnknownVerbNamesTheNearest) {
  expect_usage_error({"biuld", "x"}, "unknown verb 'biuld'; did you mean 'build'?");
  expect_usage_error({"verfy"}, "did you mean 'verify'?");
}

TEST(Usage, AnEmptyWordIsNoOptionLeftOut) {
  expect_usage_error({"build", "x", "-o", "y", "--recipe", ""}, "--recipe: expected something");
  expect_usage_error({"build", "x", "-o", ""}, "expected something, found an empty word");
}

TEST(Usage, FarVerbIsNotGuessed) {
  EXPECT_THAT(assay({"transmogrify"}).err, testing::Not(HasSubstr("did you mean")));
}

TEST(Usage, UnknownOptionNamesTheNearest) {
  expect_usage_error({"run", "x.assay", "y.png", "--top_k", "3"}, "did you mean '--top-k'?");
  expect_usage_error({"eval", "x.assay", "--dta=z"}, "unknown option '--dta'");
  expect_usage_error({"--versoin"}, "did you mean '--version'?");
}

TEST(Usage, MissingWordsAreNamed) {
  expect_usage_error({"build", "somewhere"}, "--output");
  expect_usage_error({"run", "x.assay"}, "IMAGE");
  expect_usage_error({"eval", "x.assay"}, "--data");
  expect_usage_error({"verify"}, "BUNDLE");
}

TEST(Usage, NumbersOutOfBoundsAreRefused) {
  for (const char* option : {"--threads", "--batch", "--top-k"}) {
    expect_usage_error({"run", "x.assay", "y.png", option, "0"}, option);
    expect_usage_error({"run", "x.assay", "y.png", option, "99999999"}, option);
    expect_usage_error({"run", "x.assay", "y.png", option, "many"}, option);
  }
  expect_usage_error({"eval", "x.assay", "--data", "d", "--stride", "0"}, "--stride");
  expect_usage_error({"eval", "x.assay", "--data", "d", "--offset", "-1"}, "--offset");
  expect_usage_error({"eval", "x.assay", "--data", "d", "--limit", "0"}, "--limit");
  expect_usage_error({"bench", "x.assay", "--iterations", "0"}, "--iterations");
  expect_usage_error({"bench", "x.assay", "--warmup", "-1"}, "--warmup");
  expect_usage_error({"build", "x", "-o", "y", "--max-batch", "0"}, "--max-batch");
  expect_usage_error({"build", "x", "-o", "y", "--input-size", "256", "0"}, "--input-size");
  expect_usage_error({"build", "x", "-o", "y", "--input-size", "256"}, "--input-size");
  expect_usage_error({"build", "x", "-o", "y", "--opt-level", "9"}, "--opt-level");
}

TEST(Usage, NumbersAreDecimalAndFlagsTakeNoValue) {
  expect_usage_error({"run", "x.assay", "y.png", "--top-k", "010"}, "decimal");
  expect_usage_error({"run", "x.assay", "y.png", "--top-k", "0x3"}, "decimal");
  expect_usage_error({"run", "x.assay", "y.png", "--json=maybe"}, "json");
}

TEST(Usage, ChoicesAreChecked) {
  expect_usage_error({"run", "x.assay", "y.png", "--output", "label"}, "--output");
  expect_usage_error({"bench", "x.assay", "--boundary", "host"}, "--boundary");
  expect_usage_error({"run", "x.assay", "y.png", "--backend", "gpu"}, "gpu");
  expect_usage_error({"run", "x.assay", "y.png", "--backend", "cuda:x"}, "cuda:x");
}

TEST(Usage, NoOptionIsAcceptedAndIgnored) {
  expect_usage_error({"run", "x.assay", "y.png", "--backend", "reference", "--threads", "2"},
                     "reference does not take it: leave --threads out");
  expect_usage_error({"bench", "x.assay", "--backend", "cuda:0", "--threads", "1"},
                     "cuda does not take it: leave --threads out");
  expect_usage_error({"run", "x.assay", "y.png", "--output", "logits", "--top-k", "2"}, "--top-k");
  expect_usage_error({"bench", "x.assay", "--boundary", "device", "--image", "y.jpg"}, "--image");
  expect_usage_error({"preprocess", "y.png", "--like", "x.assay", "-o", "x.png"}, ".npy");
  expect_usage_error({"preprocess", "y.png", "--like", "x.assay", "-o", "x.bmp"}, ".npy or .png");
}

TEST(Usage, StandardInputIsNamedOnce) {
  const Outcome outcome = assay({"run", bundle(), "-", "-"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("standard input"));
}

TEST(Usage, ErrorsAreJsonToo) {
  const Outcome outcome = assay({"run", "x.assay", "--json"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.json()["error"]["kind"], "usage");
  EXPECT_THAT(outcome.json()["error"]["message"].get<std::string>(), HasSubstr("IMAGE"));
  EXPECT_THAT(outcome.err, StartsWith("assay: error: "));
}

TEST(Help, EveryVerbHasOneWithAnExample) {
  const Outcome all = assay({"--help"});
  EXPECT_EQ(all.exit, 0);
  for (const std::string verb : {"build", "calibrate", "run", "eval", "preprocess", "inspect",
                                 "verify", "families", "bench", "version"}) {
    EXPECT_THAT(all.out, HasSubstr("\n  " + verb + " "));
    const Outcome outcome = assay({verb, "--help"});
    EXPECT_EQ(outcome.exit, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("Example:\n  assay " + verb));
    EXPECT_THAT(outcome.out, HasSubstr("--json"));
  }
}

TEST(Version, SaysWhatThisBuildIs) {
  const Outcome outcome = assay({"version", "--json"});
  EXPECT_EQ(outcome.exit, 0);
  const Json json = outcome.json();
  EXPECT_THAT(json["backends"].get<std::vector<std::string>>(), Contains("reference"));
  EXPECT_THAT(json["backends"].get<std::vector<std::string>>(), Contains("cpu"));
  const auto built = json["cpu_isas"]["built"].get<std::vector<std::string>>();
  EXPECT_THAT(built, Contains(json["cpu_isas"]["chosen"].get<std::string>()));
  EXPECT_EQ(assay({"--version"}).out, json["version"].get<std::string>() + "\n");
  EXPECT_THAT(assay({"version"}).out, HasSubstr(json["compiler"].get<std::string>()));
}

TEST(Version, TheIsaCanBeForced) {
  const Outcome forced = assay({"version", "--json"}, {.environment = {"ASSAY_CPU_ISA=portable"}});
  EXPECT_EQ(forced.json()["cpu_isas"]["chosen"], "portable");
  const Outcome bogus = assay({"version"}, {.environment = {"ASSAY_CPU_ISA=mmx"}});
  EXPECT_EQ(bogus.exit, 3);
  EXPECT_THAT(bogus.err, HasSubstr("mmx"));
}

TEST(Families, ListsEveryArchitecture) {
  const Outcome outcome = assay({"families", "--json"});
  EXPECT_EQ(outcome.exit, 0);
  std::vector<std::string> names;
  const Json json = outcome.json();
  for (const Json& family : json["families"]) {
    for (const Json& name : family["architectures"]) names.push_back(name);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"crossvit_9_240", "mobilevit_xxs", "mobilevit_s"}));
  const std::string text = assay({"families"}).out;
  for (const std::string& name : names) EXPECT_THAT(text, HasSubstr("  " + name + "\n"));
}

TEST(Output, AFullDiskIsAFailure) {
  const Outcome outcome = assay({"families"}, {.output = "/dev/full"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("standard output can't be written"));
}

}  // namespace
}  // namespace assay::cli_test
