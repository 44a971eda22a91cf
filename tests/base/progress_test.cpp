#include "base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace assay {
namespace {

/// A terminal that nobody looks at: what is written to `stream` comes out of text().
class FakeTerminal {
 public:
  FakeTerminal() : outer_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    ::grantpt(outer_);
    ::unlockpt(outer_);
    const int inner = ::open(::ptsname(outer_), O_RDWR | O_NOCTTY);
    stream = ::fdopen(inner, "w");
  }
  FakeTerminal(const FakeTerminal&) = delete;
  FakeTerminal& operator=(const FakeTerminal&) = delete;
  ~FakeTerminal() {
    std::fclose(stream);
    ::close(outer_);
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    pollfd waiting{outer_, POLLIN, 0};
    while (::poll(&waiting, 1, 50) > 0) {
      char buffer[512];
      const ssize_t got = ::read(outer_, buffer, sizeof buffer);
      if (got <= 0) break;
      all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
  }
  std::FILE* stream;

 private:
  int outer_;
};

TEST(ProgressTest, DrawsOnATerminalAndWipesTheLine) {
  const FakeTerminal terminal;
  {
    Progress progress("eval", 200, terminal.stream);
    progress.advance(10);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    progress.advance(90);
  }
  const std::string text = terminal.text();
  EXPECT_NE(text.find("eval  [===============>              ]  100/200  "), std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
}

TEST(ProgressTest, AnUnknownTotalShowsTheCount) {
  const FakeTerminal terminal;
  Progress progress("read", 0, terminal.stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  progress.advance(42);
  EXPECT_NE(terminal.text().find("read  42"), std::string::npos);
}

TEST(ProgressTest, IsSilentWhereThereIsNoTerminal) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress progress("eval", 10, file);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    progress.advance(5);
    progress.clear();
  }
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace assay
