#include "study/readme_table.h"

#include <utility>

#include "study/report_text.h"

namespace assay::study {

MarkdownTable::MarkdownTable(std::vector<std::string> columns) : columns_(std::move(columns)) {}

void MarkdownTable::row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string MarkdownTable::text(const std::string& none) const {
  if (rows_.empty()) return none.empty() ? "" : none + "\n\n";
  std::string head = "|";
  std::string rule = "|";
  for (const std::string& column : columns_) {
    const bool right = column.starts_with('>');
    head += " " + (right ? column.substr(1) : column) + " |";
    rule += right ? "---:|" : "---|";
  }
  std::string text = head + "\n" + rule + "\n";
  for (const auto& cells : rows_) {
    text += "|";
    for (const std::string& cell : cells) text += " " + markdown(cell) + " |";
    text += "\n";
  }
  return text + "\n";
}

}  // namespace assay::study
