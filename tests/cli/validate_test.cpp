/// assay validate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string folder_with(const std::string& page) {
  const std::string folder = scratch("validate");
  fs::create_directories(folder);
  write(fs::path(folder) / "page.md", page);
  return folder;
}

TEST(Validate, SaysWhatItChecked) {
  const Outcome outcome = assay({"validate", folder_with("text\n")});
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.out, "checked 0 manifests, 0 recipes, 0 specifications, 0 studies, 1 page\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Validate, ListsProblemsAndFails) {
  const std::string folder = folder_with("```\n");
  const Outcome outcome = assay({"validate", folder});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.lines().at(0), folder + "/page.md:1: the code fence is never closed");
  EXPECT_EQ(outcome.err, "assay: error: 1 problem found\n");
  const Outcome json = assay({"validate", folder, "--json"});
  EXPECT_EQ(json.exit, 3);
  EXPECT_EQ(json.json().at("pages"), 1);
  EXPECT_EQ(json.json().at("problems").at(0), outcome.lines().at(0));
}

TEST(Validate, RefusesWhatIsNotThere) {
  const Outcome outcome = assay({"validate", scratch("gone")});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("there is no such file or folder"));
}

TEST(Validate, ChecksTheManifestsOfTheRepository) {
  const Outcome outcome = assay({"validate", source("manifests")});
  EXPECT_EQ(outcome.exit, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("checked 8 manifests"));
}

}  // namespace
}  // namespace assay::cli_test
