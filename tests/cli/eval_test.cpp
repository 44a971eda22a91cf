/// assay eval, preprocess and bench.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "image/image.h"

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kData = "examples/fashion-mnist/t10k-images-idx3-ubyte.gz";

Outcome eval(std::vector<std::string> more, const std::string& checkpoint) {
  more.insert(more.begin(), {"eval", bundle_of(checkpoint), "--data", source(kData), "--reference",
                             source("examples/" + checkpoint + "/reference_logits.safetensors")});
  return assay(more);
}

class EvalExamples : public testing::TestWithParam<const char*> {};

TEST_P(EvalExamples, GivesTheReferenceLogits) {
  const Outcome outcome = eval({"--stride", "500", "--json"}, GetParam());
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "") << "quiet when piped";
  const Json json = outcome.json();
  EXPECT_EQ(json["images"], 20);
  EXPECT_GE(json["top1"], 0.7);
  EXPECT_GE(json["top5"], json["top1"]);
  EXPECT_LE(json["top1_interval"][0], json["top1"]);
  EXPECT_GE(json["top1_interval"][1], json["top1"]);
  EXPECT_EQ(json["agreement"], 1.0);
  EXPECT_LE(json["max_abs_diff"], 3e-4);
  EXPECT_LE(json["mean_abs_diff"], 4e-6);
  EXPECT_EQ(json["decided_disagreements"], 0);
  EXPECT_EQ(json["nonfinite"], 0);
}
INSTANTIATE_TEST_SUITE_P(Examples, EvalExamples,
                         testing::Values("mobilevit_xxs.fashion_mnist",
                                         "crossvit_9_240.fashion_mnist"),
                         [](const auto& example) {
                           return std::string(example.param).substr(0, 8);
                         });

TEST(Eval, PrintsATable) {
  const Outcome outcome = eval({"--offset", "7", "--limit", "3"}, "mobilevit_xxs.fashion_mnist");
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("images                 3\n"));
  for (const char* name : {"top1", "top5", "agreement", "max_abs_diff", "mean_abs_diff"}) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string("\n") + name + " "));
  }
  EXPECT_THAT(outcome.out, HasSubstr("nonfinite              0\n"));
}

TEST(Eval, WithoutAReferenceThereIsNoAgreement) {
  const Outcome outcome = assay({"eval", bundle(), "--data", source(kData), "--limit", "4",
                                 "--batch", "3", "--threads", "1", "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["images"], 4);
  EXPECT_FALSE(outcome.json().contains("agreement"));
  EXPECT_EQ(outcome.json()["nonfinite"], 0);
}

TEST(Eval, BadDataIsBadInput) {
  EXPECT_EQ(assay({"eval", bundle(), "--data", scratch("gone")}).exit, 3);
  EXPECT_EQ(eval({"--offset", "10000"}, "mobilevit_xxs.fashion_mnist").exit, 3);
  EXPECT_EQ(assay({"eval", bundle(), "--data", source(kData), "--limit", "1", "--reference",
                   source("examples/mobilevit_xxs.fashion_mnist/model.safetensors")})
                .exit,
            3);
}

TEST(Eval, AnImageThatCannotBeReadIsCountedApart) {
  const std::string folder = scratch("classes");
  for (const char* label : {"bag", "dress"}) fs::create_directories(fs::path(folder) / label);
  fs::copy(source("examples/images/bag.jpg"), fs::path(folder) / "bag" / "1.jpg");
  fs::copy(source("examples/images/dress.png"), fs::path(folder) / "dress" / "1.png");
  write(fs::path(folder) / "dress" / "2.png", "no picture");
  const Outcome outcome = assay({"eval", bundle(), "--data", folder, "--json"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.json()["images"], 2);
  ASSERT_EQ(outcome.json()["failed"].size(), 1U);
  EXPECT_THAT(outcome.json()["failed"][0]["image"].get<std::string>(), HasSubstr("2.png"));
  EXPECT_THAT(outcome.err, StartsWith("assay: error: "));
}

TEST(Preprocess, EveryStageHasItsShape) {
  const std::string image = source("examples/images/dress.png");
  const auto shape = [&image](const std::string& stage, const std::string& file) {
    const Outcome outcome =
        assay({"preprocess", image, "--like", bundle(), "--stage", stage, "-o", file, "--json"});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return outcome.json()["shape"];
  };
  const std::string npy = scratch("x.npy");
  EXPECT_EQ(shape("decoded", npy), Json({28, 28, 3}));
  EXPECT_EQ(fs::file_size(npy), 128U + 28 * 28 * 3);
  EXPECT_EQ(shape("resized", npy), Json({256, 256, 3}));
  EXPECT_EQ(shape("tensor", npy), Json({3, 256, 256}));
  EXPECT_EQ(fs::file_size(npy), 128U + 256 * 256 * 3 * 4);
  EXPECT_THAT(read(npy), HasSubstr("'descr': '<f4'"));
}

TEST(Preprocess, ABundleAndItsCheckpointSeeTheSame) {
  std::vector<std::string> seen;
  for (const std::string& like : {bundle(), source("examples/mobilevit_xxs.fashion_mnist")}) {
    const std::string file = scratch("x.npy");
    const Outcome outcome = assay({"preprocess", "-", "--like", like, "-o", file},
                                  {.input = read(source("examples/images/coat.webp"))});
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.out, file + ": float32 [3, 256, 256]\n");
    seen.push_back(read(file));
  }
  EXPECT_TRUE(seen[0] == seen[1]);
}

TEST(Preprocess, APngHoldsThePixels) {
  const std::string png = scratch("x.png");
  const std::string npy = scratch("x.npy");
  for (const std::string& file : {png, npy}) {
    ASSERT_EQ(assay({"preprocess", source("examples/images/bag.jpg"), "--like", bundle(), "--stage",
                     "resized", "-o", file})
                  .exit,
              0);
  }
  const std::string bytes = read(png);
  const image::Image image = image::decode(std::as_bytes(std::span(bytes)), png);
  EXPECT_EQ(std::string(image.pixels.begin(), image.pixels.end()), read(npy).substr(128));
}

TEST(Preprocess, ABadImageIsBadInput) {
  const std::string file = scratch("x.npy");
  EXPECT_EQ(assay({"preprocess", source("README.md"), "--like", bundle(), "-o", file}).exit, 4);
  EXPECT_EQ(assay({"preprocess", scratch("gone.jpg"), "--like", bundle(), "-o", file}).exit, 3);
  EXPECT_FALSE(fs::exists(file));
}

TEST(Bench, KeepsEverySampleOfEveryBoundary) {
  const Outcome outcome =
      assay({"bench", bundle(), "--iterations", "7", "--warmup", "1", "--batch", "2", "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  ASSERT_EQ(json["boundaries"].size(), 3U);
  EXPECT_EQ(json["boundaries"][0]["boundary"], "device");
  EXPECT_EQ(json["boundaries"][1]["boundary"], "call");
  EXPECT_EQ(json["boundaries"][2]["boundary"], "e2e");
  for (const Json& boundary : json["boundaries"]) {
    EXPECT_EQ(boundary["samples_seconds"].size(), 7U);
    EXPECT_GT(boundary["median_seconds"], 0);
    EXPECT_LE(boundary["interval_seconds"][0], boundary["median_seconds"]);
    EXPECT_GE(boundary["interval_seconds"][1], boundary["median_seconds"]);
  }
  EXPECT_EQ(json["batch"], 2);
  EXPECT_FALSE(json["machine"]["cpu"].get<std::string>().empty());
  EXPECT_TRUE(json["machine"].contains("shared"));
  EXPECT_TRUE(json.contains("synchronization"));
}

TEST(Bench, MeasuresOneBoundaryOnAnImage) {
  const Outcome outcome =
      assay({"bench", bundle(), "--boundary", "e2e", "--image", source("examples/images/bag.jpg"),
             "--iterations", "2", "--warmup", "0", "--threads", "1"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("encoded file bytes to labels"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("device")));
  EXPECT_EQ(assay({"bench", bundle(), "--image", source("README.md")}).exit, 4);
}

}  // namespace
}  // namespace assay::cli_test
