/// scripts/check-description: the parts that a change's description must have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace assay::structure {
namespace {

using testing::HasSubstr;

struct Outcome {
  int exit = -1;
  std::string out;
};

Outcome check(const std::string& description) {
  const std::string file = testing::TempDir() + "/description." + std::to_string(getpid()) + ".md";
  std::ofstream(file) << description;
  const std::string command =
      "'" ASSAY_SOURCE_DIR "/scripts/check-description' '" + file + "' 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  Outcome outcome;
  std::array<char, 4096> bytes{};
  for (std::size_t got = 1; got > 0;) {
    got = std::fread(bytes.data(), 1, bytes.size(), pipe);
    outcome.out.append(bytes.data(), got);
  }
  outcome.exit = WEXITSTATUS(pclose(pipe));
  return outcome;
}

const std::string kGood =
    "Add a thing\n\n## What\na\n## Why\nb\n## How it was checked\n    ctest: 3 passed\n"
    "## What was not run\nNone: there is nothing else.\n## Risk\nNone: it is new.\n";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  return text.replace(text.find(from), from.size(), to);
}

void expect_refused(const std::string& description, const std::string& words) {
  const Outcome outcome = check(description);
  EXPECT_EQ(outcome.exit, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr(words));
}

TEST(Description, WithAllPartsPasses) {
  EXPECT_EQ(check(kGood).exit, 0) << check(kGood).out;
  EXPECT_EQ(check("# " + kGood).exit, 0);
  EXPECT_EQ(check(with("## Why", "### Why ##")).exit, 0);
  EXPECT_EQ(check(with("b\n", "b\n### A detail\nc\n")).exit, 0);
  EXPECT_EQ(check(with("b\n", "```\n## What\n```\n")).exit, 0);
}

TEST(Description, NeedsEachPart) {
  for (const std::string part : {"What", "Why", "How it was checked", "What was not run", "Risk"}) {
    expect_refused(with("## " + part + "\n", "## Other\n"), "the part \"" + part + "\" is missing");
  }
  expect_refused("", "the part \"Risk\" is missing");
  expect_refused(with("Add a thing\n", "\n"), ":1: the first line needs to say");
}

TEST(Description, PartsSaySomethingInOrderOnce) {
  expect_refused(with("\nb\n", "\n\n"), ":5: the part \"Why\" says nothing");
  expect_refused(with("\nb\n", "\n<!-- why? -->\n- \nTBD\n"), "the part \"Why\" says nothing");
  expect_refused(kGood + "## Why\nc\n", "the part \"Why\" is there twice");
  expect_refused("A thing\n## Why\nb\n" + kGood.substr(12),
                 "the part \"What\" comes before \"Why\"");
}

/// The example in CONTRIBUTING.md is one that passes.
TEST(Description, TheExampleOfContributingPasses) {
  std::ifstream file(ASSAY_SOURCE_DIR "/CONTRIBUTING.md");
  std::string example;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    inside = inside || line == "    Round to fp16 in vectors";
    if (inside) example += line.substr(std::min<std::size_t>(4, line.size())) + "\n";
  }
  ASSERT_FALSE(example.empty());
  EXPECT_EQ(check(example).exit, 0) << check(example).out;
}

}  // namespace
}  // namespace assay::structure
