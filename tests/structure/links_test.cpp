/// Every relative link of the Markdown files leads somewhere.
#include <gtest/gtest.h>

#include "structure/source_tree.h"

namespace assay::structure {
namespace {

namespace fs = std::filesystem;

/// The targets of the links "[text](target)" and "[label]: target" of one line.
std::vector<std::string> targets_of(const std::string& line) {
  std::vector<std::string> targets;
  for (auto at = line.find("]("); at != std::string::npos; at = line.find("](", at + 2)) {
    const auto end = line.find_first_of(") ", at + 2);
    if (end != std::string::npos) targets.push_back(line.substr(at + 2, end - at - 2));
  }
  if (line.starts_with("[")) {
    const auto colon = line.find("]: ");
    if (colon != std::string::npos) targets.push_back(line.substr(colon + 3));
  }
  return targets;
}

Findings check_links(const SourceFile& file) {
  Findings findings;
  bool code = false;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (file.lines[i].starts_with("```")) code = !code;
    if (code) continue;
    for (std::string target : targets_of(file.lines[i])) {
      target = target.substr(0, target.find('#'));
      if (target.empty() || target.find("://") != std::string::npos ||
          target.starts_with("mailto:")) {
        continue;
      }
      const fs::path path = (file.path.parent_path() / target).lexically_normal();
      if (path.string().starts_with("..") || !fs::exists(root() / path)) {
        findings.push_back(finding(file, i + 1, "the link to " + target + " leads nowhere"));
      }
    }
  }
  return findings;
}

TEST(Links, LeadSomewhere) {
  std::size_t checked = 0;
  for (const SourceFile& file : source_files()) {
    if (file.path.extension() != ".md") continue;
    ++checked;
    for (const std::string& found : check_links(file)) ADD_FAILURE() << found;
  }
  EXPECT_GT(checked, 0U);
}

TEST(LinksCheck, FindsADeadLink) {
  EXPECT_EQ(check_links(snippet("README.md", "see [x](no/such/file.md) here")).size(), 1U);
  EXPECT_EQ(check_links(snippet("docs/a.md", "[x](CMakeLists.txt#part)")).size(), 1U);
  EXPECT_EQ(check_links(snippet("README.md", "[x](../outside.md)")).size(), 1U);
  EXPECT_EQ(check_links(snippet("README.md", "[x]: no-such-file")).size(), 1U);
}

TEST(LinksCheck, AcceptsGoodOnes) {
  EXPECT_TRUE(
      check_links(snippet("README.md", "[x](CMakeLists.txt), [y](src#top) [z](#a)")).empty());
  EXPECT_TRUE(check_links(snippet("src/a.md", "[x](../CMakeLists.txt)")).empty());
  EXPECT_TRUE(check_links(snippet("README.md", "[x](https://example.org/a)")).empty());
  EXPECT_TRUE(check_links(snippet("README.md", "```\na[i](j)\n```")).empty());
}

}  // namespace
}  // namespace assay::structure
