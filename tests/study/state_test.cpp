#include "study/state.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "assay/error.h"
#include "base/file.h"

namespace assay::study {
namespace {

std::filesystem::path fresh(const char* name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / (std::to_string(getpid()) + name);
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(StudyState, TakesUpWhatWasDoneAndNothingElse) {
  const auto folder = fresh("state-resume");
  int runs = 0;
  {
    StudyState state(folder, "a", false);
    state.part("one", [&] {
      ++runs;
      state.study.title = "first";
    });
    EXPECT_THROW(state.part("two", [] { throw std::runtime_error("stopped"); }),
                 std::runtime_error);
  }
  StudyState state(folder, "a", true);
  EXPECT_EQ(state.study.title, "first");
  EXPECT_TRUE(state.done("one"));
  EXPECT_FALSE(state.done("two"));
  state.part("one", [&] { ++runs; });
  EXPECT_EQ(runs, 1);
  state.part("two", [&] { ++runs; });
  EXPECT_EQ(runs, 2);
  state.remove();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(StudyState, RefusesToMixResults) {
  const auto folder = fresh("state-mix");
  StudyState(folder, "a", false).part("one", [] {});
  EXPECT_THROW(StudyState(folder, "b", true), Error) << "another specification";
  EXPECT_THROW(StudyState(folder, "a", false), Error) << "without --resume";
  EXPECT_NO_THROW(StudyState(folder, "a", true));
}

TEST(StudyState, LeavesAFolderOfOtherThingsAlone) {
  const auto folder = fresh("state-other");
  std::filesystem::create_directories(folder);
  EXPECT_NO_THROW(StudyState(folder, "a", false)) << "an empty folder may be its own";
  const auto write = [](const std::filesystem::path& path) {
    AtomicFile file(path);
    file.write(std::string_view("x"));
    file.commit();
  };
  write(folder / "notes.txt");
  EXPECT_THROW(StudyState(folder, "a", false), Error);
  EXPECT_THROW(StudyState(folder, "a", true), Error);
  const auto plain = fresh("state-plain");
  write(plain);
  EXPECT_THROW(StudyState(plain, "a", false), Error);
}

TEST(StudyState, RefusesAFileThatIsNotItsOwn) {
  const auto folder = fresh("state-broken");
  std::filesystem::create_directories(folder);
  for (const char* text : {"{", "{}", "{\"identity\": \"a\"}", "{\"identity\": 1}"}) {
    AtomicFile file(folder / "state.json");
    file.write(std::string_view(text));
    file.commit();
    EXPECT_THROW(StudyState(folder, "a", true), Error) << text;
  }
}

}  // namespace
}  // namespace assay::study
