#pragma once
/// Writing HTML and SVG from text that nobody vouches for.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace assay::study {

/// `text` for an element's content or a quoted attribute: & < > " ' are written as entities,
/// control characters as spaces.
std::string escape(std::string_view text);

/// A cell of HtmlTable: its HTML, already escaped.
struct HtmlCell {
  std::string html;
  bool number = false;  ///< aligned to the right
  int span = 1;         ///< columns that it takes
  bool prose = false;   ///< wide enough for sentences
};

/// A table that scrolls sideways inside its own box where the page is narrow. The first cell of
/// each row is the row's header.
class HtmlTable {
 public:
  HtmlTable(std::string_view caption, std::vector<std::string> columns);
  void row(const std::vector<HtmlCell>& cells);
  /// Nothing at all where no row was added.
  [[nodiscard]] std::string text() const;

 private:
  std::string caption_;
  std::vector<std::string> columns_;
  std::vector<bool> number_columns_;
  std::string rows_;
};

/// A figure and, smaller and under it, its interval.
HtmlCell with_interval(std::string_view value, std::string_view interval);

}  // namespace assay::study
