/// Manifests: the ones of the repository, and what is refused in which words.
#include "study/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "study/fixtures/example_study.h"
#include "study/schema.h"

namespace assay::study {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kHead =
    "name = \"tiny\"\nfamily = \"mobilevit\"\narchitecture = \"mobilevit_xs\"\n"
    "precision = \"fp32\"\nbatch = 1\n";
const std::string kHub =
    "[source]\nhub = \"timm/x\"\nrevision = \"0123456789abcdef0123456789abcdef01234567\"\n";

class ManifestFiles : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("manifest_test." + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "manifests");
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Manifest read(const std::string& text) const {
    write("manifests/tiny.toml", text);
    return read_manifest(root_ / "manifests/tiny.toml");
  }
  /// What reading it says, without the path in front.
  std::string complaint(const std::string& text) const {
    try {
      read(text);
    } catch (const Error& error) {
      const std::string file = (root_ / "manifests/tiny.toml").string();
      std::string message = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << message;
      EXPECT_EQ(message.find(file), 0U) << message;
      return message.substr(file.size());
    }
    return "";
  }
  fs::path root_;
};

TEST_F(ManifestFiles, SayWhatTheySay) {
  const Manifest manifest =
      read(kHead + kHub +
           "[accuracy]\ntop1 = 0.5\nimages = 10\ndata = \"d\"\nfrom = \"f\"\n"
           "[[variant]]\nname = \"a\"\nprecision = \"fp8\"\nrecipe = \"fp8-vit-max\"\n");
  EXPECT_EQ(manifest.name, "tiny");
  EXPECT_EQ(manifest.architecture, "mobilevit_xs");
  EXPECT_EQ(manifest.source.hub, "timm/x");
  ASSERT_TRUE(manifest.accuracy);
  EXPECT_EQ(manifest.accuracy->top1, 0.5);
  EXPECT_EQ(manifest.accuracy->images, 10U);
  ASSERT_EQ(manifest.variants.size(), 1U);
  EXPECT_EQ(manifest.variants[0].precision, graph::Precision::fp8);
  EXPECT_FALSE(read(kHead + kHub).accuracy);
}

TEST_F(ManifestFiles, RefuseWhatTheBuildDoesNotKnow) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string good = kHead + kHub;
  EXPECT_THAT(complaint(with(good, "tiny", "other")),
              HasSubstr(":1: name is 'other', expected 'tiny'"));
  EXPECT_THAT(complaint(with(good, "\"mobilevit\"", "\"resnet\"")),
              HasSubstr(":2: family is 'resnet', expected one of "));
  EXPECT_THAT(complaint(with(good, "mobilevit_xs", "crossvit_9_240")),
              HasSubstr(":3: architecture is 'crossvit_9_240', expected one of mobilevit"));
  EXPECT_THAT(complaint(with(good, "fp32", "int4")), HasSubstr(":4: precision is 'int4'"));
  EXPECT_THAT(complaint(with(good, "batch = 1", "batch = 0")), HasSubstr(":5: batch is 0"));
  EXPECT_THAT(complaint(with(good, "batch = 1", "batch = 1\nbatches = 2")), HasSubstr("batches"));
  EXPECT_THAT(complaint(with(good, "timm/x", "timm")), HasSubstr(":7: source.hub is 'timm'"));
  EXPECT_THAT(complaint(with(good, "0123456789abcdef0", "main")), HasSubstr(":8: source.revision"));
  EXPECT_THAT(complaint(with(good, "0123456789abcdef0", "0123456789ABCDEF0")),
              HasSubstr("40 hexadecimal digits"));
  EXPECT_THAT(complaint(good + "path = \"a\"\n"), HasSubstr("either source.hub"));
  EXPECT_THAT(complaint(good + "branch = \"a\"\n"), HasSubstr("branch"));
  EXPECT_THAT(complaint(kHead), HasSubstr("source is missing"));
  EXPECT_THAT(complaint("name = "), HasSubstr(":1: not TOML"));
}

TEST_F(ManifestFiles, HoldTheirCheckpointToTheArchitecture) {
  const std::string manifest = kHead + "[source]\npath = \"nets/xs\"\n";
  EXPECT_THAT(complaint(manifest), HasSubstr(":7: source.path is 'nets/xs', expected a "));
  fs::create_directories(root_ / "nets/xs");
  const fs::path example = fs::path(ASSAY_SOURCE_DIR) / "examples";
  fs::copy_file(example / "mobilevit_xxs.fashion_mnist/config.json", root_ / "nets/xs/config.json");
  EXPECT_THAT(complaint(manifest), HasSubstr("is a mobilevit_xxs, the manifest says mobilevit_xs"));
  fs::copy_file(example / "mobilevit_xs.fashion_mnist/config.json", root_ / "nets/xs/config.json",
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(read(manifest).source.path, "nets/xs");
  EXPECT_THAT(complaint(kHead + "[source]\npath = \"../nets\"\n"), HasSubstr("stays within"));
  EXPECT_THAT(complaint(kHead + "[source]\npath = \"/tmp\"\n"), HasSubstr("stays within"));
}

TEST_F(ManifestFiles, HoldVariantsToTheirRecipes) {
  const auto variant = [](const std::string& precision, const std::string& recipe) {
    return kHead + kHub + "[[variant]]\nname = \"a\"\nprecision = \"" + precision +
           "\"\nrecipe = \"" + recipe + "\"\n";
  };
  EXPECT_THAT(complaint(variant("int8", "fp8-vit-max")),
              HasSubstr(":11: variant[0].precision is 'int8', expected fp8"));
  EXPECT_THAT(complaint(variant("fp8", "fp8-vit")),
              HasSubstr(":12: variant[0].recipe is 'fp8-vit', expected one of bf16, "));
  EXPECT_THAT(complaint(variant("fp8", "mine.toml")), HasSubstr("a recipe's file that exists"));
  write("mine.toml",
        "name = \"mine\"\ndescription = \"d\"\nprecision = \"fp16\"\nbase = \"fp16\"\n");
  EXPECT_EQ(read(variant("fp16", "mine.toml")).variants[0].recipe, "mine.toml");
  const std::string twice = "[[variant]]\nname = \"a\"\nprecision = \"bf16\"\nrecipe = \"bf16\"\n";
  EXPECT_THAT(complaint(kHead + kHub + twice + twice), HasSubstr("no other variant has"));
}

TEST_F(ManifestFiles, HoldVariantsToTheirStudies) {
  const std::string manifest =
      kHead + kHub +
      "[[variant]]\nname = \"a\"\nprecision = \"bf16\"\nrecipe = \"bf16\"\n"
      "study = \"studies/s\"\n";
  EXPECT_THAT(complaint(manifest),
              HasSubstr(":13: variant[0].study is 'studies/s', expected a study's"));
  fs::create_directories(root_ / "studies/s");
  Study study = example_study();
  study.models.erase(study.models.begin());  // the other one says nothing of its variants
  const auto written = [&] {
    write_study(study, root_ / "studies/s/study.json");
    return complaint(manifest);
  };
  study.models[0].architecture = "mobilevit_s";
  EXPECT_THAT(written(), HasSubstr("expected a study of mobilevit_xs"));
  study.models[0].architecture = "mobilevit_xs";
  study.models[0].variants.at(0).name = "b";
  study.models[0].variants.resize(1);
  EXPECT_THAT(written(), HasSubstr("a study with a variant 'a' of mobilevit_xs"));
  study.models[0].variants[0].name = "a";
  study.models[0].variants[0].precision = "fp8";
  EXPECT_THAT(written(), HasSubstr(":11: variant[0].precision is 'bf16', expected fp8"));
  study.models[0].variants[0].precision = "bf16";
  EXPECT_EQ(written(), "");
}

}  // namespace
}  // namespace assay::study
