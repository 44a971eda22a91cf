/// assay build with recipes, and with images in the place of a calibration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kXxs = "examples/mobilevit_xxs.fashion_mnist";
const std::string kData = "examples/fashion-mnist/t10k-images-idx3-ubyte.gz";

Outcome build(const std::string& file, std::vector<std::string> more) {
  more.insert(more.begin(), {"build", source(kXxs), "-o", file});
  return assay(more);
}

/// fp8-vit-max with two images on the way.
const std::string& fp8_bundle() {
  static const std::string file = [] {
    std::string made = scratch("fp8.assay");
    const Outcome outcome = build(made, {"--recipe", "fp8-vit-max", "--calibration", source(kData),
                                         "--calibration-images", "2"});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith(made + ": mobilevit_xxs, fp8,"));
    return made;
  }();
  return file;
}

TEST(Recipe, ImagesOnTheWayGiveWhatACalibrationFileGives) {
  const std::string calibration = scratch("two.json");
  ASSERT_EQ(assay({"calibrate", bundle(), "--data", source(kData), "--observer", "max", "--stride",
                   "5000", "--limit", "2", "-o", calibration})
                .exit,
            0);
  const std::string file = scratch("from_file.assay");
  const Outcome outcome = build(file, {"--precision", "fp8", "--calibration", calibration});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(read(file) == read(fp8_bundle()));
}

TEST(Recipe, InspectShowsIt) {
  const Outcome outcome = assay({"inspect", fp8_bundle(), "--layers", "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  EXPECT_EQ(json["precision"], "fp8");
  EXPECT_EQ(json["provenance"]["recipe"]["name"], "fp8-vit-max");
  EXPECT_THAT(json["provenance"]["recipe"]["toml"].get<std::string>(),
              HasSubstr("roles = [\"qkv\", \"fc1\", \"fc2\"]"));
  EXPECT_EQ(json["provenance"]["calibration"]["observers"], Json({"max"}));
  EXPECT_EQ(json["provenance"]["calibration"]["stride"], 5000);
  EXPECT_THAT(json["plan"].get<std::string>(), HasSubstr("fp8"));
  const Outcome text = assay({"inspect", fp8_bundle()});
  EXPECT_THAT(text.out, HasSubstr("fp8-vit-max: FP8 qkv"));
  EXPECT_THAT(text.out, HasSubstr("27 at fp8, 47 at fp16, 7 at fp32"));
  EXPECT_THAT(text.out, HasSubstr("max over 2 images"));
}

TEST(Recipe, AFileIsAsGoodAsAName) {
  const std::string recipe = scratch("mine.toml");
  write(recipe,
        "name = \"mine\"\nprecision = \"nvfp4\"\nbase = \"fp32\"\n[[rule]]\n"
        "layers = [\"head.*\"]\nprecision = \"nvfp4\"\n");
  const std::string file = scratch("mine.assay");
  const Outcome outcome = build(file, {"--recipe", recipe, "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["precision"], "nvfp4");
  EXPECT_EQ(outcome.json()["recipe"], "mine");
  EXPECT_EQ(assay({"verify", file}).exit, 0);
  EXPECT_EQ(build(recipe, {"--recipe", recipe}).exit, 3) << "never over its input";
  EXPECT_THAT(read(recipe), StartsWith("name = \"mine\""));
}

void expect_refused(const std::vector<std::string>& words, int exit, const std::string& text) {
  const std::string file = scratch("never.assay");
  const Outcome outcome = build(file, words);
  EXPECT_EQ(outcome.exit, exit) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(text));
  EXPECT_FALSE(fs::exists(file));
}

TEST(Recipe, RefusesWhatContradicts) {
  expect_refused({"--precision", "bf16", "--recipe", "fp8-vit-max"}, 3, "leave one out");
  expect_refused({"--recipe", "fp8-most"}, 3, "fp8-vit-max");
  const std::string recipe = scratch("wrong.toml");
  write(recipe, "name = \"mine\"\nprecision = \"fp8\"\nbase = \"fp8\"\n");
  expect_refused({"--recipe", recipe}, 3, recipe + ":3: base is 'fp8'");
  write(recipe,
        "name = \"mine\"\nprecision = \"fp16\"\nbase = \"fp16\"\n[[rule]]\n"
        "roles = [\"query\"]\nprecision = \"fp32\"\n");
  expect_refused({"--recipe", recipe}, 3, "rule 1 (roles query");
  expect_refused({"--recipe", "fp8-vit-max"}, 2, "--calibration");
  expect_refused({"--recipe", "fp16", "--calibration", source(kData)}, 2, "does not take it");
  expect_refused({"--recipe", "fp16", "--calibration-images", "3"}, 2, "--calibration-images");
}

TEST(Recipe, AnImageThatCannotBeReadIsNamed) {
  const std::string list = scratch("list.csv");
  write(list, source("examples/images/bag.jpg") + "\n" + source("README.md") + "\n");
  const std::string file = scratch("partly.assay");
  const Outcome outcome = build(file, {"--precision", "int8", "--calibration", list});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("README.md"));
  EXPECT_EQ(assay({"inspect", file, "--json"}).json()["provenance"]["calibration"]["images"], 1);
}

}  // namespace
}  // namespace assay::cli_test
