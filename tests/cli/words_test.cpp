/// What the verbs share, called directly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/image_paths.h"
#include "cli/program.h"
#include "cli/suggest.h"
#include "cli/table.h"

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

TEST(Words, EditDistanceCountsSwapsOnce) {
  EXPECT_EQ(cli::edit_distance("", ""), 0);
  EXPECT_EQ(cli::edit_distance("", "abc"), 3);
  EXPECT_EQ(cli::edit_distance("build", "biuld"), 1);
  EXPECT_EQ(cli::edit_distance("build", "built"), 1);
  EXPECT_EQ(cli::edit_distance("verify", "very"), 2);
}

TEST(Words, NearestIsNearOrNothing) {
  const std::vector<std::string> verbs{"run", "eval", "verify"};
  EXPECT_EQ(cli::nearest("evla", verbs), "eval");
  EXPECT_EQ(cli::nearest("zzzzzz", verbs), "");
}

TEST(Words, TerminalsAreNotObeyed) {
  EXPECT_EQ(cli::printable("a\x1b[31mb\tc\x7f"), "a\\x1b[31mb\tc\\x7f");
  EXPECT_EQ(cli::printable("caf\xc3\xa9 \xc2\x9b"), "caf\xc3\xa9 \\u009b");
}

TEST(Words, ManyLinesBecomeOne) {
  EXPECT_EQ(cli::one_line("missing:\n  a.weight\n  b.bias"), "missing: a.weight; b.bias");
  EXPECT_EQ(cli::one_line("one\n\ntwo\n"), "one; two");
  EXPECT_EQ(cli::one_line(""), "");
}

TEST(Words, NumbersHaveTheDigitsOfTheirPrecision) {
  EXPECT_EQ(cli::json_number(0.1F).dump(), "0.1");
  EXPECT_EQ(cli::json_number(-1234.5678F).dump(), "-1234.5677");
  EXPECT_TRUE(cli::json_number(std::numeric_limits<float>::quiet_NaN()).is_null());
  EXPECT_TRUE(cli::json_number(-std::numeric_limits<float>::infinity()).is_null());
}

TEST(Words, ExitCodesFollowTheKind) {
  EXPECT_EQ(cli::exit_code(ErrorKind::bad_input), 3);
  EXPECT_EQ(cli::exit_code(ErrorKind::not_found), 3);
  EXPECT_EQ(cli::exit_code(ErrorKind::corrupt), 3);
  EXPECT_EQ(cli::exit_code(ErrorKind::unsupported), 4);
  EXPECT_EQ(cli::exit_code(ErrorKind::internal), 1);
  EXPECT_EQ(cli::exit_code(ErrorKind::out_of_memory), 1);
}

TEST(Words, BytesAreReadable) {
  EXPECT_EQ(cli::bytes_text(999), "999 B");
  EXPECT_EQ(cli::bytes_text(12'345'678), "12.3 MB");
}

class ImagePaths : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch("images");
    fs::create_directories(fs::path(folder_) / "deeper");
    for (const char* name : {"b.PNG", "a.jpg", "c.webp", "notes.txt", "deeper/d.png", "e[1].png"}) {
      write(fs::path(folder_) / name, "x");
    }
  }
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>& words) const {
    std::vector<std::string> result;
    for (const cli::ImagePath& image : cli::expand_images(words)) {
      result.push_back(image.problem.empty() ? fs::path(image.path).filename().string() : "!");
    }
    return result;
  }
  std::string folder_;
};

TEST_F(ImagePaths, AFolderIsItsImagesSortedNotEnteringFolders) {
  EXPECT_THAT(names({folder_}), ElementsAre("a.jpg", "b.PNG", "c.webp", "e[1].png"));
}

TEST_F(ImagePaths, GlobsAreSortedAndMayNameFolders) {
  EXPECT_THAT(names({folder_ + "/*.[jw]*"}), ElementsAre("a.jpg", "c.webp"));
  EXPECT_THAT(names({folder_ + "/deep*"}), ElementsAre("d.png"));
}

TEST_F(ImagePaths, AFileNamedLikeAGlobIsThatFile) {
  EXPECT_THAT(names({folder_ + "/e[1].png"}), ElementsAre("e[1].png"));
}

TEST_F(ImagePaths, WhatNamesNothingKeepsItsPlace) {
  fs::create_directories(folder_ + "/none");
  EXPECT_THAT(names({folder_ + "/*.gif", folder_ + "/none", folder_ + "/a.jpg", "-"}),
              ElementsAre("!", "!", "a.jpg", "-"));
}

TEST_F(ImagePaths, StandardInputHoldsOneImage) {
  EXPECT_THROW(static_cast<void>(names({"-", "-"})), cli::UsageError);
}

}  // namespace
}  // namespace assay::cli_test
