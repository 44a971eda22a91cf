/// Pages of Markdown: what is found, and what is left alone.
#include "study/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace assay::study {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

/// A folder with docs/page.md, the page that is checked, docs/there.md and "a b.md".
class Markdown : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("markdown_test." + std::to_string(getpid()));
    fs::create_directories(root_ / "docs");
    std::ofstream(root_ / "docs/there.md") << "x";
    std::ofstream(root_ / "a b.md") << "x";
  }
  /// The problems, without the path in front.
  std::vector<std::string> check(const std::string& text) const {
    const fs::path page = root_ / "docs/page.md";
    std::vector<std::string> problems = check_markdown(text, page, root_);
    for (std::string& problem : problems) {
      EXPECT_EQ(problem.find(page.string() + ":"), 0U);
      problem = problem.substr(page.string().size() + 1);
    }
    return problems;
  }
  fs::path root_;
};

TEST_F(Markdown, TablesHaveAsManyCellsAsColumns) {
  EXPECT_THAT(check("| a | b |\n|---|:-:|\n| 1 | 2 |\n\ntext | text\n"), IsEmpty());
  EXPECT_THAT(check("a | b\n--|--\n1 | 2\n"), IsEmpty());
  EXPECT_THAT(check("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 |\n| 1 | 2 | 3 |\n"),
              ElementsAre("3: the row has 1 cells, the table has 2 columns",
                          "5: the row has 3 cells, the table has 2 columns"));
  EXPECT_THAT(check("| a | b | c |\n|---|---|\n"),
              ElementsAre("1: the table's head has 3 cells, the line of dashes has 2"));
}

TEST_F(Markdown, EscapedPipesPartNoCells) {
  EXPECT_THAT(check("| a | b |\n|---|---|\n| `x\\|y` | 2 |\n"), IsEmpty());
  // As GitHub reads it, code protects no pipe.
  EXPECT_THAT(check("| a | b |\n|---|---|\n| `x|y` | 2 |\n"),
              ElementsAre("3: the row has 3 cells, the table has 2 columns"));
  EXPECT_THAT(check("| a | b |\n|---|---|\n| | |\n"), IsEmpty());
}

TEST_F(Markdown, ATableEndsWhereAnotherBlockBegins) {
  EXPECT_THAT(check("| a | b |\n|---|---|\n| 1 | 2 |\n# Head\none | two | three\n"), IsEmpty());
  EXPECT_THAT(check("| a | b |\n|---|---|\n| 1 | 2 |\n```\nx\n```\n> quoted\n"), IsEmpty());
  // A line of text right below is a row.
  EXPECT_THAT(check("| a | b |\n|---|---|\n| 1 | 2 |\nmore\n"),
              ElementsAre("4: the row has 1 cells, the table has 2 columns"));
}

TEST_F(Markdown, RulesAndOptionsAreNoTables) {
  EXPECT_THAT(check("a | b\n\n---\n\n    --a|--b\n\nc\n---\n"), IsEmpty());
}

TEST_F(Markdown, FencesAreClosed) {
  EXPECT_THAT(check("```\n| a |\n|---|---|\n[x](nowhere)\n```\n"), IsEmpty());
  EXPECT_THAT(check("~~~~ text\n```\n~~~\n~~~~\n"), IsEmpty());
  EXPECT_THAT(check("- item\n\n  ```sh\n  ls\n  ```\n"), IsEmpty());
  EXPECT_THAT(check("a\n```\ncode\n"), ElementsAre("2: the code fence is never closed"));
  EXPECT_THAT(check("````\ncode\n```\n"), ElementsAre("1: the code fence is never closed"));
  EXPECT_THAT(check("```\ncode\n``` text\n"), ElementsAre("1: the code fence is never closed"));
  EXPECT_THAT(check("```code``` is a span\n"), IsEmpty());
}

TEST_F(Markdown, LinksLeadSomewhere) {
  EXPECT_THAT(check("[a](there.md) [b](there.md#part) ![c](../a%20b.md) [d](<../a b.md>)"),
              IsEmpty());
  EXPECT_THAT(check("[a](there.md \"title\"), [b](#part), [c](https://example.org/x), "
                    "[d](mailto:a@example.org)"),
              IsEmpty());
  EXPECT_THAT(check("[a]: there.md \"title\"\n[^1]: a note\n"), IsEmpty());
  EXPECT_THAT(
      check("text\n[a](gone.md) [b](there.md/x)\n\n[c]: gone.md\n"),
      ElementsAre("2: the link to gone.md leads nowhere", "2: the link to there.md/x leads nowhere",
                  "4: the link to gone.md leads nowhere"));
  EXPECT_THAT(check("[a](/etc/hosts)"), ElementsAre("1: the link to /etc/hosts leads nowhere"));
  EXPECT_THAT(check("[a](../..)"), ElementsAre("1: the link to ../.. leads outside"));
}

TEST_F(Markdown, CodeHasNoLinks) {
  EXPECT_THAT(check("`[a](gone.md)` and ``[`](gone.md)``\n\n    [a](gone.md)\n"), IsEmpty());
  EXPECT_THAT(check("text\n    [a](gone.md) goes on\n"),
              ElementsAre("2: the link to gone.md leads nowhere"));
}

TEST_F(Markdown, LinesMayEndAsOnWindowsOrNotAtAll) {
  EXPECT_THAT(check("| a |\r\n|---|\r\n| 1 |\r\n```\r\n```"), IsEmpty());
  EXPECT_THAT(check(""), IsEmpty());
  EXPECT_THAT(check("[a]("), IsEmpty());
  EXPECT_THAT(check("``` `"), IsEmpty());
}

}  // namespace
}  // namespace assay::study
