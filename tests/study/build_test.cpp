#include "study/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "assay/error.h"
#include "base/file.h"

namespace assay::study {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kRecipe = R"(name = "mine"
description = "For a test"
precision = "bf16"
base = "fp32"
[[rule]]
precision = "bf16"
roles = ["qkv"]
)";

/// A folder with the files `first.toml` and `second.toml`.
fs::path folder_with(const std::string& first, const std::string& second) {
  fs::path folder = fs::path(testing::TempDir()) / (std::to_string(getpid()) + "build-recipes");
  fs::create_directories(folder);
  write_file(folder / "first.toml", first);
  write_file(folder / "second.toml", second);
  return folder;
}

Spec spec_of(const fs::path& folder, const std::string& second = "second.toml") {
  return parse_spec(
      "name = \"tiny\"\ntitle = \"t\"\nquestion = \"q\"\ndata = \"d.csv\"\n[[model]]\n"
      "name = \"m\"\ncheckpoint = \"c\"\n[[variant]]\nname = \"fp32\"\nrecipe = \"fp32\"\n"
      "[[variant]]\nname = \"one\"\nrecipe = \"first.toml\"\n[[variant]]\nname = \"two\"\n"
      "recipe = \"" +
          second + "\"\n",
      "s.toml", folder);
}

std::string complaint(const Spec& spec) {
  try {
    check_recipes(spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "nothing";
}

TEST(CheckRecipes, RefusesTwoOfOneName) {
  std::string other = kRecipe;
  other.replace(other.find("qkv"), 3, "fc1");
  EXPECT_THAT(complaint(spec_of(folder_with(kRecipe, other))),
              HasSubstr("variants 'one' (first.toml) and 'two' (second.toml) have different "
                        "recipes, both named 'mine'"));
  std::string builtin = kRecipe;
  builtin.replace(builtin.find("mine"), 4, "int8-max");
  EXPECT_THAT(complaint(spec_of(folder_with(builtin, kRecipe), "int8-max")),
              HasSubstr("'two' (int8-max) have different recipes, both named 'int8-max'"));
}

TEST(CheckRecipes, TakesOneRecipeTwiceAndOthersOfOtherNames) {
  EXPECT_EQ(complaint(spec_of(folder_with(kRecipe, "# The same.\n" + kRecipe))), "nothing");
  std::string renamed = kRecipe;
  renamed.replace(renamed.find("mine"), 4, "yours");
  EXPECT_EQ(complaint(spec_of(folder_with(kRecipe, renamed))), "nothing");
}

}  // namespace
}  // namespace assay::study
