/// assay run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "cli/program.h"
#include "numerics/dtype.h"

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

std::string image(const std::string& name) { return source("examples/images/" + name); }

/// A run with --json: one value a line.
std::vector<Json> json_lines(const Outcome& outcome) {
  std::vector<Json> lines;
  for (const std::string& line : outcome.lines()) lines.push_back(Json::parse(line));
  return lines;
}

std::vector<float> logits_of(const std::string& path, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"run", bundle(), path, "--output", "logits", "--json"});
  const Outcome outcome = assay(more);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  return json_lines(outcome).at(0)["logits"].get<std::vector<float>>();
}

float max_abs_diff(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Row 0 of the example's reference logits: the test set's first image, which is ankle_boot.png.
std::vector<float> reference_logits() {
  const checkpoint::Weights weights = checkpoint::read_safetensors(
      source("examples/mobilevit_xxs.fashion_mnist/reference_logits.safetensors"));
  const checkpoint::TensorView* logits = weights.find("logits");
  std::vector<float> row(10);
  convert_to_f32(logits->dtype, logits->bytes.first(row.size() * sizeof(float)), row);
  return row;
}

TEST(Run, NamesWhatIsOnTheImage) {
  const Outcome outcome = assay({"run", bundle(), image("ankle_boot.png"), "--top-k", "3"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  ASSERT_EQ(outcome.lines().size(), 1U);
  EXPECT_THAT(outcome.lines()[0], StartsWith(image("ankle_boot.png") + "\tankle boot "));
  EXPECT_EQ(std::ranges::count(outcome.lines()[0], '\t'), 3);
}

TEST(Run, AnswersInJsonLines) {
  const Outcome outcome =
      assay({"run", bundle(), image("bag.jpg"), image("trouser.png"), "--json", "--top-k", "10"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const std::vector<Json> lines = json_lines(outcome);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["image"], image("bag.jpg"));
  EXPECT_EQ(lines[1]["top"][0]["label"], "trouser");
  EXPECT_EQ(lines[1]["top"][0]["index"], 1);
  double sum = 0;
  for (const Json& prediction : lines[1]["top"]) sum += prediction["probability"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(Run, GivesTheReferenceLogits) {
  EXPECT_LE(max_abs_diff(logits_of(image("ankle_boot.png")), reference_logits()), 3e-4F);
}

TEST(Run, BackendsAgree) {
  const std::vector<float> cpu = logits_of(image("shirt.png"), {"--threads", "1"});
  EXPECT_LE(max_abs_diff(logits_of(image("shirt.png"), {"--backend", "reference"}), cpu), 3e-4F);
}

TEST(Run, BatchesGiveTheSameAnswersInTheSameOrder) {
  const auto run = [](const std::string& batch) {
    return assay({"run", bundle(), source("examples/images"), "--batch", batch, "--output",
                  "logits", "--json"});
  };
  const Outcome one = run("1");
  const Outcome four = run("4");
  ASSERT_EQ(four.exit, 0) << four.err;
  ASSERT_EQ(one.lines().size(), 10U);
  ASSERT_EQ(four.lines().size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    const Json a = json_lines(one)[i];
    const Json b = json_lines(four)[i];
    EXPECT_EQ(a["image"], b["image"]);
    EXPECT_LE(max_abs_diff(a["logits"], b["logits"]), 1e-4F);
  }
}

TEST(Run, LogitsAndFeaturesAreNumbers) {
  const Outcome text = assay({"run", bundle(), image("coat.webp"), "--output", "logits"});
  ASSERT_EQ(text.exit, 0) << text.err;
  EXPECT_EQ(std::ranges::count(text.lines().at(0), ' '), 9);
  const Outcome features =
      assay({"run", bundle(), image("coat.webp"), "--output", "features", "--json"});
  EXPECT_EQ(json_lines(features).at(0)["features"].size(), 320U);
}

TEST(Run, ReadsStandardInput) {
  const Outcome outcome =
      assay({"run", bundle(), "-", "--json"}, {.input = read(image("sandal.png"))});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(json_lines(outcome).at(0)["image"], "-");
  EXPECT_EQ(json_lines(outcome).at(0)["top"][0]["label"], "sandal");
  const Outcome empty = assay({"run", bundle(), "-"});
  EXPECT_EQ(empty.exit, 3);
  EXPECT_THAT(empty.err, HasSubstr("standard input: empty"));
}

TEST(Run, APipeIsRefusedWithTheWordForStandardInput) {
  const std::string pipe = scratch("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Outcome outcome = assay({"run", bundle(), pipe});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr(pipe + ": is not a regular file"));
  EXPECT_THAT(outcome.err, HasSubstr("name it -"));
}

TEST(Run, ExpandsFoldersAndQuotedGlobs) {
  EXPECT_EQ(assay({"run", bundle(), source("examples/images")}).lines().size(), 10U);
  const Outcome outcome = assay({"run", bundle(), source("examples/images/s*.png")});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  ASSERT_EQ(outcome.lines().size(), 3U);
  EXPECT_THAT(outcome.lines()[0], StartsWith(image("sandal.png")));
  EXPECT_THAT(outcome.lines()[2], StartsWith(image("sneaker.png")));
}

TEST(Run, ABadImageDoesNotStopTheOthers) {
  const std::string bad = scratch("bad.png");
  write(bad, read(image("dress.png")).substr(0, 200));
  const std::vector<std::string> words{"run",
                                       bundle(),
                                       image("bag.jpg"),
                                       bad,
                                       scratch("gone.png"),
                                       scratch("*.gif"),
                                       image("dress.png")};
  const Outcome outcome = assay(words);
  EXPECT_EQ(outcome.exit, 3);
  ASSERT_EQ(outcome.lines().size(), 2U);
  EXPECT_THAT(outcome.lines()[0], StartsWith(image("bag.jpg")));
  EXPECT_THAT(outcome.lines()[1], StartsWith(image("dress.png")));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 3) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(bad));

  std::vector<std::string> with_json = words;
  with_json.insert(with_json.end(), {"--json", "--batch", "2"});
  const std::vector<Json> lines = json_lines(assay(with_json));
  ASSERT_EQ(lines.size(), 5U);
  const auto errors =
      std::ranges::count_if(lines, [](const Json& j) { return j.contains("error"); });
  EXPECT_EQ(errors, 3);
  EXPECT_EQ(lines[0]["image"], bad) << "an error is told at once, answers come with their batch";
}

TEST(Run, ExifRotationIsAppliedOnlyWhenAsked) {
  // An APP1 segment behind the start of image: TIFF, one entry, orientation 6 (turn right).
  const std::string tiff("MM\0*\0\0\0\b\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0", 26);
  const std::string body = std::string("Exif\0\0", 6) + tiff;
  const std::string jpeg = read(image("bag.jpg"));
  const std::string path = scratch("turned.jpg");
  write(path, jpeg.substr(0, 2) + "\xff\xe1" + '\0' + static_cast<char>(body.size() + 2) + body +
                  jpeg.substr(2));
  const std::vector<float> upright = logits_of(image("bag.jpg"));
  EXPECT_EQ(logits_of(path), upright);
  EXPECT_EQ(logits_of(image("bag.jpg"), {"--exif-rotate"}), upright);
  EXPECT_GT(max_abs_diff(logits_of(path, {"--exif-rotate"}), upright), 0.01F);
}

TEST(Run, RefusesBundlesAndBackendsThatAreNot) {
  EXPECT_EQ(assay({"run", scratch("gone.assay"), image("bag.jpg")}).exit, 3);
  EXPECT_EQ(assay({"run", image("bag.jpg"), image("bag.jpg")}).exit, 3);
}

TEST(Run, ABackendThatIsNotBuiltIsUnsupported) {
  const Json backends = assay({"version", "--json"}).json()["backends"];
  if (std::ranges::find(backends, Json("cuda")) != backends.end()) GTEST_SKIP() << "it is built";
  const Outcome outcome = assay({"run", bundle(), image("bag.jpg"), "--backend", "cuda", "--json"});
  EXPECT_EQ(outcome.exit, 4);
  EXPECT_EQ(outcome.json()["error"]["kind"], "unsupported");
}

TEST(Run, AReaderThatLeavesIsNoError) {
  const std::string name = scratch("pipe");
  const std::string command = "'" ASSAY_PROGRAM "' run '" + bundle() + "' '" +
                              source("examples/images") + "' 2>'" + name + ".err' | head -n 1 >'" +
                              name + ".out'";
  const int status = std::system(("bash -o pipefail -c \"" + command + "\"").c_str());
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(name + ".err"), "");
  EXPECT_EQ(std::ranges::count(read(name + ".out"), '\n'), 1);
}

}  // namespace
}  // namespace assay::cli_test
