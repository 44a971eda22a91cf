#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "assay/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// An empty folder of this test's own.
class Files : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) /
              ("assay_base_" + std::to_string(::getpid()) + "_" + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

 private:
  fs::path folder_;
};

template <typename Call>
ErrorKind kind_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::internal;
}

TEST_F(Files, MapsTheBytesAndKeepsThem) {
  const auto file = MappedFile::open(write("a", std::string("x\0y", 3)));
  fs::remove(path("a"));
  ASSERT_EQ(file->bytes().size(), 3U);
  EXPECT_EQ(file->bytes()[2], std::byte{'y'});
  EXPECT_EQ(file->path(), path("a"));
}

TEST_F(Files, MapsAnEmptyFileToNoBytes) {
  EXPECT_TRUE(MappedFile::open(write("empty", ""))->bytes().empty());
}

TEST_F(Files, RefusesWhatIsNoFile) {
  EXPECT_EQ(kind_of([&] { MappedFile::open(path("absent")); }), ErrorKind::not_found);
  EXPECT_EQ(kind_of([&] { MappedFile::open(path("")); }), ErrorKind::bad_input);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(kind_of([&] { MappedFile::open(path("fifo")); }), ErrorKind::bad_input);
}

TEST_F(Files, ReadsUpToTheLimit) {
  write("a", "hello");
  EXPECT_EQ(read_text(path("a"), 5), "hello");
  EXPECT_EQ(read_file(path("a"), 5).size(), 5U);
  EXPECT_EQ(kind_of([&] { read_text(path("a"), 4); }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([&] { read_file(path("b"), 4); }), ErrorKind::not_found);
}

TEST_F(Files, AtomicFileAppearsOnCommitOnly) {
  write("a", "old");
  {
    AtomicFile file(path("a"));
    file.write("new ");
    file.write(std::string_view("text"));
    EXPECT_EQ(read_text(path("a"), 100), "old");
    file.commit();
  }
  EXPECT_EQ(read_text(path("a"), 100), "new text");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AtomicFileWithoutCommitLeavesNothing) {
  write("a", "old");
  {
    AtomicFile file(path("a"));
    file.write("half");
    EXPECT_EQ(read_text(path("a"), 100), "old");
  }
  EXPECT_EQ(read_text(path("a"), 100), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AtomicFileLeavesNothingWhenItsProcessIsKilled) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(path("a"));
    file.write("half");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Files, AtomicFileRefusesWhatARenameWouldDestroy) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(kind_of([&] { AtomicFile file(path("pipe")); }), ErrorKind::bad_input);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

TEST_F(Files, AtomicFileFollowsLinksAndKeepsPermissions) {
  write("a", "old");
  std::filesystem::permissions(path("a"), std::filesystem::perms::owner_read);
  std::filesystem::create_symlink("a", path("link"));
  AtomicFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read_text(path("a"), 100), "new");
  EXPECT_EQ(std::filesystem::status(path("a")).permissions(), std::filesystem::perms::owner_read);
}

TEST_F(Files, AtomicFileTakesTheLongestNameThereIs) {
  const std::string longest(255, 'n');
  AtomicFile file(path(longest));
  file.write("x");
  file.commit();
  EXPECT_EQ(read_text(path(longest), 100), "x");
}

TEST_F(Files, TwoWritersOfOnePathDoNotMix) {
  AtomicFile one(path("a"));
  AtomicFile two(path("a"));
  one.write("one");
  two.write("two");
  two.commit();
  one.commit();
  EXPECT_EQ(read_text(path("a"), 100), "one");
}

TEST_F(Files, AtomicFileRefusesWhereItCannotWrite) {
  EXPECT_EQ(kind_of([&] { AtomicFile file(path("no/such/folder")); }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([&] { AtomicFile file(path("")); }), ErrorKind::bad_input);
  AtomicFile file(path("a"));
  file.commit();
  EXPECT_EQ(kind_of([&] { file.write("late"); }), ErrorKind::internal);
}

}  // namespace
}  // namespace assay
