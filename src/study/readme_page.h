#pragma once
/// A Markdown page cut into pieces, each with what it speaks of.
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "study/readme_values.h"

namespace assay::study {

/// A line of text, a cell of a table, or a block between fences.
struct PageFragment {
  std::size_t line = 0;  ///< from 1
  std::string text;      ///< without Markdown's escapes, with its backticks
  std::string column;    ///< a cell's heading
  bool fenced = false;
  std::set<std::string, std::less<>> models;    ///< that the line or its section names
  std::set<std::string, std::less<>> variants;  ///< that the line names
};

std::vector<PageFragment> page_fragments(std::string_view page, const StudyValues& values);

/// What is left of a fragment without the texts of the study that stand in it word for word and the
/// words of the trade that have a digit ("int8", "top-1").
std::vector<std::string> unexplained_text(const PageFragment& fragment, const StudyValues& values);

}  // namespace assay::study
