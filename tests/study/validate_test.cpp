/// A small repository that is well, and what is said once one thing in it is not.
#include "study/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/hash.h"
#include "study/fixtures/example_study.h"

namespace assay::study {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Repository : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("validate_test." + std::to_string(getpid()));
    fs::remove_all(root_);
    write("README.md", "# Page\n\n[docs](docs/a.md)\n");
    write("docs/a.md", "| a |\n|---|\n| 1 |\n");
    write("manifests/tiny.toml",
          "name = \"tiny\"\nfamily = \"mobilevit\"\narchitecture = \"mobilevit_xs\"\n"
          "precision = \"fp32\"\nbatch = 1\n[source]\nhub = \"timm/x\"\n"
          "revision = \"0123456789abcdef0123456789abcdef01234567\"\n");
    write("recipes/mine.toml",
          "name = \"mine\"\ndescription = \"d\"\nprecision = \"fp16\"\nbase = \"fp16\"\n");
    study_ = example_study();
    study_.spec.sha256 = sha256_hex(std::as_bytes(std::span(study_.spec.text)));
    for (Model& model : study_.models) {
      model.architecture = "mobilevit_xs";
      if (model.calibration) write("studies/s/" + model.calibration->file, "{}");
      for (Variant& variant : model.variants) {
        if (!variant.recipe_file.empty())
          write("studies/s/" + variant.recipe_file + ".as-used", "");
        variant.recipe_file.clear();
        for (Layer& layer : variant.layers) layer.role = "fc1";
      }
    }
    write("studies/s/README.md", "# A study\n");
    write("studies/s/report.html", "<html></html>");
    record();
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void record() const { write_study(study_, root_ / "studies/s/study.json"); }
  Validation found() const { return validate(std::array{root_}); }
  /// The problems, without the folder's path.
  std::vector<std::string> problems() const {
    std::vector<std::string> all = found().problems;
    for (std::string& problem : all) {
      const auto at = problem.find(root_.string() + "/");
      if (at != std::string::npos) problem.erase(at, root_.string().size() + 1);
    }
    return all;
  }
  fs::path root_;
  Study study_;
};

TEST_F(Repository, IsCheckedWhole) {
  write("build/ignored.md", "```\n");
  write(".hidden/ignored.md", "```\n");
  write("notes.txt", "```\n");
  const Validation validation = found();
  EXPECT_THAT(validation.problems, IsEmpty());
  EXPECT_EQ(validation.manifests, 1U);
  EXPECT_EQ(validation.recipes, 1U);
  EXPECT_EQ(validation.records, 1U);
  EXPECT_EQ(validation.pages, 3U);
}

TEST_F(Repository, SaysWhatIsWrongWithEachKindOfFile) {
  write("README.md", "[docs](docs/b.md)\n");
  write("manifests/tiny.toml", "name = \"other\"\n");
  write("recipes/mine.toml", "name = \"mine\"\nbase = \"int3\"\n");
  EXPECT_THAT(problems(),
              ElementsAre("README.md:1: the link to docs/b.md leads nowhere",
                          "manifests/tiny.toml:1: name is 'other', expected 'tiny', as the file "
                          "is called",
                          HasSubstr("recipes/mine.toml:")));
}

TEST_F(Repository, RecipesAreCalledAsTheirFiles) {
  fs::rename(root_ / "recipes/mine.toml", root_ / "recipes/yours.toml");
  EXPECT_THAT(problems(), ElementsAre("recipes/yours.toml: name is 'mine', expected 'yours', as "
                                      "the file is called"));
}

TEST_F(Repository, ManifestsHaveOneCheckpointEach) {
  fs::copy_file(root_ / "manifests/tiny.toml", root_ / "manifests/copy.toml");
  EXPECT_THAT(problems(), testing::Contains(HasSubstr("manifests/tiny.toml: name")).Times(0));
  std::string text = "name = \"copy\"\n";
  std::ifstream original(root_ / "manifests/tiny.toml");
  std::string line;
  std::getline(original, line);
  while (std::getline(original, line)) text += line + "\n";
  write("manifests/copy.toml", text);
  EXPECT_THAT(problems(), ElementsAre("manifests/tiny.toml: another manifest is of timm/x, too"));
}

TEST_F(Repository, RecordsHaveTheirFiles) {
  fs::remove(root_ / "studies/s/report.html");
  const std::string calibration = study_.models[0].calibration->file;
  fs::remove(root_ / "studies/s" / calibration);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("study.json: the study's report.html is not there"),
                                      HasSubstr("study.json: the calibration of model '")));
}

TEST_F(Repository, RecordsAreOfThisBuildsWords) {
  study_.spec.sha256 = std::string(64, '0');
  study_.models[0].architecture = "resnet50";
  study_.models[0].variants[1].precision = "int3";
  study_.models[0].variants[2].recipe_file = "recipes/gone.toml";
  record();
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("spec.sha256 is not the digest of spec.text"),
                                      HasSubstr("no architecture resnet50"),
                                      HasSubstr("there is no precision int3"),
                                      HasSubstr("the recipe is not there")));
}

TEST_F(Repository, RecordsAreReadByTheirSchema) {
  write("studies/s/study.json", "{\"schema\": 1}");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("studies/s/study.json: ")));
  write("studies/s/study.json", "{");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("studies/s/study.json")));
}

TEST_F(Repository, NumbersOfARecordAreMeasured) {
  write("studies/s/README.md", "# A study\n\nIt agrees on 12.3456% of the images.\n");
  EXPECT_THAT(problems(), ElementsAre("studies/s/README.md:3: 12.3456% is nowhere in study.json"));
}

TEST_F(Repository, FilesAreCheckedOneByOneToo) {
  const Validation page = validate(std::array{root_ / "docs/a.md"});
  EXPECT_EQ(page.pages, 1U);
  EXPECT_EQ(page.files(), 1U);
  EXPECT_EQ(validate(std::array{root_ / "manifests/tiny.toml"}).manifests, 1U);
  EXPECT_EQ(validate(std::array{root_ / "recipes/mine.toml"}).recipes, 1U);
}

TEST_F(Repository, PathsThatCannotBeCheckedAreRefused) {
  const auto kind_of = [](const fs::path& path) {
    try {
      validate(std::array{path});
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of(root_ / "gone"), ErrorKind::not_found);
  EXPECT_EQ(kind_of(root_ / "studies/s/report.html"), ErrorKind::bad_input);
  fs::create_directories(root_ / "empty");
  EXPECT_EQ(kind_of(root_ / "empty"), ErrorKind::bad_input);
}

}  // namespace
}  // namespace assay::study
