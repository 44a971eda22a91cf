#pragma once
/// Comma-separated values as RFC 4180 has them.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::pipeline {

struct CsvRow {
  std::size_t line = 1;  ///< where it begins, counted from 1
  std::vector<std::string> fields;
};

/// Parses `text`: fields may be quoted, a quote inside is doubled, lines end with LF or CRLF, a
/// byte order mark and lines of blanks are passed over. `what` names the file in messages. Throws
/// bad_input with the line for an unfinished or misplaced quote.
std::vector<CsvRow> parse_csv(std::string_view text, std::string_view what);

}  // namespace assay::pipeline
