/// assay calibrate, and what build, inspect and verify make of narrow precisions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kXxs = "examples/mobilevit_xxs.fashion_mnist";
const std::string kData = "examples/fashion-mnist/t10k-images-idx3-ubyte.gz";

Outcome calibrate(const std::string& file, std::vector<std::string> more) {
  more.insert(more.begin(), {"calibrate", bundle(), "-o", file});
  return assay(more);
}

/// A calibration of four images, made once.
const std::string& calibration() {
  static const std::string file = [] {
    std::string made = scratch("xxs.json");
    const Outcome outcome = calibrate(made, {"--data", source(kData), "--stride", "3000"});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << "quiet when piped";
    EXPECT_THAT(outcome.out,
                StartsWith(made + ": mobilevit_xxs, 92 operands over 4 images by max,"));
    return made;
  }();
  return file;
}

/// The example at a precision, made once each.
const std::string& narrow_bundle(const std::string& precision) {
  static std::map<std::string, std::string> made;
  auto found = made.find(precision);
  if (found != made.end()) return found->second;
  const std::string file = scratch(precision + ".assay");
  std::vector<std::string> words{"build", source(kXxs), "-o", file, "--precision", precision};
  if (precision == "int8") words.insert(words.end(), {"--calibration", calibration()});
  const Outcome outcome = assay(words);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith(file + ": mobilevit_xxs, " + precision));
  return made.emplace(precision, file).first->second;
}

TEST(Calibrate, ReplacesNothingButACalibration) {
  const std::string picture = scratch("picture.png");
  write(picture, read(source("examples/images/sandal.png")));
  const Outcome outcome = calibrate(picture, {"--data", source(kData), "--stride", "3000"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("is no calibration"));
  EXPECT_EQ(read(picture), read(source("examples/images/sandal.png")));
}

TEST(Calibrate, ReplacesOneOfAnotherVersion) {
  const std::string file = scratch("old.json");
  write(file, R"({"format": "assay calibration", "version": 1, "observer": "max", "layers": []})");
  const Outcome outcome = calibrate(file, {"--data", source(kData), "--stride", "5000"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(Json::parse(read(file))["version"], 2);
}

TEST(Calibrate, RefusesAnOutputBeforeItWorks) {
  const Outcome outcome = calibrate("/dev/full", {"--data", source(kData)});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/full"));
}

TEST(Calibrate, WritesWhatItSays) {
  const Json json = Json::parse(read(calibration()));
  EXPECT_EQ(json["format"], "assay calibration");
  EXPECT_EQ(json["architecture"], "mobilevit_xxs");
  EXPECT_EQ(json["images"], 4);
  EXPECT_EQ(json["stride"], 3000);
  EXPECT_EQ(json["observers"].size(), 7U);
  EXPECT_EQ(json["operands"][0]["layer"], "stem.conv");
  std::map<std::string, int> operands;
  for (const Json& operand : json["operands"]) {
    EXPECT_LT(operand["max"][0], operand["max"][1]) << operand;
    ++operands[operand["operand"].get<std::string>()];
  }
  const std::map<std::string, int> wanted{{"input", 65}, {"query", 9}, {"key", 9}, {"value", 9}};
  EXPECT_EQ(operands, wanted);
  const std::string again = scratch("again.json");
  const Outcome outcome =
      calibrate(again, {"--data", source(kData), "--stride", "3000", "--json", "--threads", "3"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["images"], 4);
  EXPECT_EQ(outcome.json()["operands"], json["operands"].size());
  EXPECT_EQ(read(again), read(calibration()));
}

TEST(Calibrate, TakesObserversByName) {
  const std::string file = scratch("two.json");
  const Outcome outcome = calibrate(file, {"--observer", "mse", "--data", source(kData), "--stride",
                                           "5000", "--observer", "max"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("over 2 images by max, mse"));
  const Json json = Json::parse(read(file));
  EXPECT_EQ(json["observers"], Json({"max", "mse"}));
  EXPECT_TRUE(json["operands"][0].contains("mse_e4m3"));
  EXPECT_FALSE(json["operands"][0].contains("entropy_int8"));
}

TEST(Calibrate, TurnsImagesAsEvalDoes) {
  const std::string list = scratch("list.csv");
  write(list, source("tests/golden/image/orientation_6.jpg") + "\n");
  const auto calibrated = [&](std::vector<std::string> more) {
    const std::string file = scratch("turned.json");
    more.insert(more.end(), {"--data", list, "--observer", "max"});
    const Outcome outcome = calibrate(file, more);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return read(file);
  };
  EXPECT_NE(calibrated({}), calibrated({"--exif-rotate"}));
}

TEST(Calibrate, AnImageThatCannotBeReadIsNamed) {
  const std::string list = scratch("list.csv");
  write(list, source("examples/images/bag.jpg") + "\n" + source("README.md") + "\n");
  const std::string file = scratch("x.json");
  const Outcome outcome = calibrate(file, {"--data", list, "--json"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.json()["images"], 1);
  ASSERT_EQ(outcome.json()["failed"].size(), 1U);
  EXPECT_THAT(outcome.err, HasSubstr("README.md"));
  EXPECT_EQ(Json::parse(read(file))["images"], 1);
}

/// Nothing is written and `text` says why.
void expect_calibrate_fails(const std::vector<std::string>& words, int exit,
                            const std::string& text) {
  const std::string file = scratch("never.json");
  std::vector<std::string> all{"calibrate", "-o", file};
  all.insert(all.end(), words.begin(), words.end());
  const Outcome outcome = assay(all);
  EXPECT_EQ(outcome.exit, exit) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(text));
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(fs::exists(file));
}

TEST(Calibrate, RefusesWhatItCannotDo) {
  expect_calibrate_fails({bundle(), "--data", source(kData), "--observer", "kl"}, 2, "--observer");
  expect_calibrate_fails({bundle()}, 2, "--data");
  expect_calibrate_fails({bundle(), "--data", scratch("gone")}, 3, "gone");
  expect_calibrate_fails({bundle(), "--data", source(kData), "--offset", "10000"}, 3, "no image");
  expect_calibrate_fails({narrow_bundle("bf16"), "--data", source(kData)}, 3, "--precision fp32");
  const std::string list = scratch("list.csv");
  write(list, source("README.md") + "\n");
  expect_calibrate_fails({bundle(), "--data", list}, 3, "README.md");
  const Outcome input = assay({"calibrate", bundle(), "--data", source(kData), "-o", bundle()});
  EXPECT_EQ(input.exit, 3);
  EXPECT_THAT(input.err, HasSubstr("is the input"));
}

TEST(Precision, NarrowBundlesAreSmallerAndVerify) {
  const auto size = [](const std::string& file) {
    return static_cast<double>(fs::file_size(file));
  };
  EXPECT_LT(size(narrow_bundle("bf16")), 0.56 * size(bundle()));
  EXPECT_LT(size(narrow_bundle("int8")), 0.34 * size(bundle()));
  for (const char* precision : {"bf16", "int8"}) {
    const Outcome verify = assay({"verify", narrow_bundle(precision)});
    EXPECT_EQ(verify.exit, 0) << verify.err;
    const std::string again = scratch("again.assay");
    std::vector<std::string> words{"build", source(kXxs), "-o", again, "--precision", precision};
    if (std::string(precision) == "int8") {
      words.insert(words.end(), {"--calibration", calibration()});
    }
    ASSERT_EQ(assay(words).exit, 0);
    EXPECT_TRUE(read(again) == read(narrow_bundle(precision))) << precision;
  }
}

TEST(Precision, NarrowBundlesAnswerAlike) {
  for (const char* precision : {"bf16", "int8"}) {
    const Outcome outcome =
        assay({"run", narrow_bundle(precision), source("examples/images/bag.jpg"), "--backend",
               "reference", "--json", "--top-k", "1"});
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.json()["top"][0]["label"], "bag");
    EXPECT_GT(outcome.json()["top"][0]["probability"], 0.8);
  }
}

TEST(Precision, InspectSaysWhichLayersAndWhatIsEmulated) {
  const Outcome outcome =
      assay({"inspect", narrow_bundle("int8"), "--backend", "reference", "--layers", "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  EXPECT_EQ(json["precision"], "int8");
  EXPECT_EQ(json["plan"], "reference, 1 thread, bf16, int8 emulated");
  EXPECT_EQ(json["provenance"]["calibration"]["images"], 4);
  std::map<std::string, int> layers;
  for (const Json& layer : json["layers"]) {
    ++layers[layer["precision"].get<std::string>()];
    if (layer["name"] == "stem.conv") {
      EXPECT_EQ(layer["precision"], "int8");
    }
  }
  EXPECT_EQ(layers["int8"], 65);
  EXPECT_EQ(layers["bf16"], 9);  // attention
  EXPECT_GT(layers["fp32"], 0);
  const Outcome text = assay({"inspect", narrow_bundle("int8"), "--backend", "reference"});
  EXPECT_THAT(text.out, HasSubstr("mse over 4 images (offset 0, stride 3000, no limit)"));
}

/// `build` ends with `exit`, says `text`, and writes nothing.
void expect_build_fails(std::vector<std::string> words, int exit, const std::string& text) {
  const std::string file = scratch("never.assay");
  words.insert(words.begin(), {"build", source(kXxs), "-o", file});
  const Outcome outcome = assay(words);
  EXPECT_EQ(outcome.exit, exit) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(text));
  EXPECT_FALSE(fs::exists(file));
}

TEST(Precision, BuildSaysWhatItNeeds) {
  expect_build_fails({"--precision", "int8"}, 2, "'assay calibrate'");
  expect_build_fails({"--precision", "bf16", "--calibration", calibration()}, 2, "--calibration");
  expect_build_fails({"--calibration", calibration()}, 2, "--calibration");
  expect_build_fails({"--precision", "fp12"}, 4, "fp32, fp16, bf16");
  expect_build_fails({"--precision", "int8", "--calibration", scratch("gone")}, 3, "gone");
  expect_build_fails({"--precision", "int8", "--calibration", source("README.md")}, 4, "README.md");
  const std::string other = scratch("other.json");
  write(other, "\n{\"stages\": 4}\n");
  expect_build_fails({"--precision", "int8", "--calibration", other}, 3,
                     "is not a calibration: found an object with 'stages' and without 'format'");
  // Another optimization level is another graph.
  expect_build_fails({"--precision", "int8", "--calibration", calibration(), "--opt-level", "0"}, 3,
                     "another network");
}

TEST(Precision, AMissingLayerIsNamed) {
  std::string text = read(calibration());
  const auto line = text.find("{\"layer\": \"stem.conv\"");
  text.erase(line, text.find('\n', line) + 1 - line);
  const std::string file = scratch("lacking.json");
  write(file, text);
  expect_build_fails({"--precision", "int8", "--calibration", file}, 3, "'stem.conv'");
}

}  // namespace
}  // namespace assay::cli_test
