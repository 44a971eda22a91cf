#pragma once
/// A Markdown table of marked text (report_text.h).
#include <string>
#include <vector>

namespace assay::study {

class MarkdownTable {
 public:
  /// A column whose title begins with '>' (which is not printed) is aligned to the right.
  explicit MarkdownTable(std::vector<std::string> columns);
  void row(std::vector<std::string> cells);
  /// With a blank line behind it; `none` as a paragraph where no row was added.
  [[nodiscard]] std::string text(const std::string& none = "") const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace assay::study
