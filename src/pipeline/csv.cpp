#include "pipeline/csv.h"

#include "base/error.h"

namespace assay::pipeline {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view what) : text_(text), what_(what) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  std::vector<CsvRow> parse() {
    std::vector<CsvRow> rows;
    while (!text_.empty()) {
      CsvRow row{line_, {}};
      do row.fields.push_back(field());
      while (take(','));
      end_line();
      const bool blank =
          row.fields.size() == 1 && row.fields[0].find_first_not_of(" \t") == std::string::npos;
      if (!blank) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  void end_line() {
    if (text_.empty()) return;
    take('\r');
    if (!take('\n'))
      fail(ErrorKind::bad_input, "{}, line {}: expected a comma or the line's end", what_, line_);
    ++line_;
  }

  std::string field() {
    if (take('"')) return quoted();
    const std::size_t end = text_.find_first_of(",\r\n\"");
    std::string plain(text_.substr(0, end));
    text_.remove_prefix(plain.size());
    if (text_.starts_with('"'))
      fail(ErrorKind::bad_input, "{}, line {}: a quote inside a field that has none around it",
           what_, line_);
    return plain;
  }

  std::string quoted() {
    std::string content;
    const std::size_t begin = line_;
    while (true) {
      const std::size_t end = text_.find('"');
      if (end == std::string_view::npos)
        fail(ErrorKind::bad_input, "{}, line {}: a quote is never closed", what_, begin);
      for (const char c : text_.substr(0, end)) line_ += c == '\n' ? 1 : 0;
      content += text_.substr(0, end);
      text_.remove_prefix(end + 1);
      if (!take('"')) return content;
      content += '"';
    }
  }

  std::string_view text_;
  std::string_view what_;
  std::size_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text, std::string_view what) {
  return Parser(text, what).parse();
}

}  // namespace assay::pipeline
