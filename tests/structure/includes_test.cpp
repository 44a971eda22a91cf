#include "structure/includes.h"

#include <gtest/gtest.h>

namespace assay::structure {
namespace {

std::size_t objections(const std::string& path, const std::string& include) {
  return check_includes(snippet(path, "#pragma once\n#include \"" + include + "\"\n")).size();
}

TEST(Includes, PointDownOnly) {
  std::size_t checked = 0;
  for (const SourceFile& file : source_files()) {
    for (const std::string& found : check_includes(file)) ADD_FAILURE() << found;
    checked += file.path.string().starts_with("src/") ? 1 : 0;
  }
  EXPECT_GT(checked, 20U) << "the tree was not found";
}

TEST(Includes, EveryRoomOpensWithItsHeader) {
  for (const auto& entry : std::filesystem::directory_iterator(root() / "src")) {
    if (!entry.is_directory()) continue;
    const std::string room = entry.path().filename();
    EXPECT_TRUE(std::filesystem::exists(entry.path() / (room + ".h")))
        << "src/" << room << " has no " << room << ".h that says what the room is for";
  }
}

TEST(IncludesCheck, AcceptsWhatPointsDown) {
  EXPECT_EQ(objections("src/graph/a.cpp", "base/error.h"), 0U);
  EXPECT_EQ(objections("src/graph/a.cpp", "graph/b.h"), 0U);
  EXPECT_EQ(objections("src/cli/a.cpp", "bundle/bundle.h"), 0U);
  EXPECT_EQ(objections("src/backend/backend.cpp", "backend/cpu/plan.h"), 0U);
  EXPECT_EQ(objections("src/backend/cpu/a.cpp", "assay/error.h"), 0U);
  EXPECT_TRUE(
      check_includes(snippet("src/base/a.cpp", "#include <vector>\n// #include x")).empty());
}

TEST(IncludesCheck, FindsAnIncludeThatPointsUp) {
  EXPECT_EQ(objections("src/base/a.cpp", "graph/graph.h"), 1U);
  EXPECT_EQ(objections("src/image/a.h", "checkpoint/checkpoint.h"), 1U);
  EXPECT_EQ(objections("src/pipeline/a.cpp", "cli/cli.h"), 1U);
}

TEST(IncludesCheck, FindsFamiliesAndBackendsThatKnowEachOther) {
  EXPECT_EQ(objections("src/families/crossvit.cpp", "backend/backend.h"), 1U);
  EXPECT_EQ(objections("src/backend/cpu/a.cpp", "families/families.h"), 1U);
  EXPECT_EQ(objections("src/backend/cpu/a.cpp", "backend/reference/b.h"), 1U);
  EXPECT_EQ(objections("src/backend/reference/a.cpp", "backend/cpu/kernels/gemm.h"), 1U);
}

TEST(IncludesCheck, FindsAFamilyThatReadsFiles) {
  EXPECT_EQ(objections("src/families/crossvit.cpp", "base/file.h"), 1U);
  EXPECT_EQ(objections("src/families/crossvit.cpp", "image/image.h"), 1U);
}

TEST(IncludesCheck, FindsTheProgramReachingIntoARoom) {
  EXPECT_EQ(objections("src/cli/a.cpp", "bundle/reader.h"), 1U);
  EXPECT_EQ(objections("src/study/a.cpp", "backend/cpu/kernels/gemm.h"), 1U);
}

TEST(IncludesCheck, FindsOtherSpellings) {
  EXPECT_EQ(objections("src/graph/a.cpp", "../base/error.h"), 1U);
  EXPECT_EQ(objections("src/graph/a.cpp", "builder.h"), 1U);
  EXPECT_EQ(check_includes(snippet("src/base/a.cpp", "  #  include \"cli/cli.h\"")).size(), 1U);
}

TEST(IncludesCheck, FindsAPublicHeaderThatIncludesAPrivateOne) {
  EXPECT_EQ(objections("include/assay/assay.h", "base/error.h"), 1U);
  EXPECT_EQ(objections("include/assay/assay.h", "assay/error.h"), 0U);
}

}  // namespace
}  // namespace assay::structure
