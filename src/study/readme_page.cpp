#include "study/readme_page.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace assay::study {
namespace {

constexpr std::array<std::string_view, 10> kWords{
    "95% interval", "SHA-256", "top-1", "top-5", "nvfp4", "fp32", "fp16", "bf16", "int8", "fp8"};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string_view> lines_of(std::string_view page) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < page.size();) {
    const std::size_t end = std::min(page.find('\n', begin), page.size());
    lines.push_back(page.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

/// The cells of a table's row, or the whole line; escapes taken off. Inside code only a bar is
/// escaped.
std::vector<std::string> cells_of(std::string_view line) {
  const bool is_row = line.starts_with('|');
  std::vector<std::string> cells(1);
  bool in_code = false;
  for (std::size_t i = is_row ? 1 : 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool escapes = c == '\\' && i + 1 < line.size() &&
                         (line[i + 1] == '|' || (!in_code && !is_word(line[i + 1])));
    if (escapes) {
      cells.back() += line[++i];
    } else if (is_row && c == '|') {
      cells.emplace_back();
    } else {
      if (c == '`') in_code = !in_code;
      cells.back() += c;
    }
  }
  if (is_row) cells.pop_back();
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

/// Text outside of backticks at even places, inside at odd ones.
std::vector<std::string> split_at_code(const std::string& text) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (c == '`') {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

void add_names(PageFragment& fragment, const std::string& text, const StudyValues& values) {
  const std::vector<std::string> pieces = split_at_code(text);
  for (std::size_t i = 1; i < pieces.size(); i += 2) {
    if (values.models.contains(pieces[i])) fragment.models.insert(pieces[i]);
    if (values.variants.contains(pieces[i])) fragment.variants.insert(pieces[i]);
  }
}

bool is_rule(std::string_view line) {
  return line.starts_with('|') && line.find_first_not_of("|-: ") == std::string_view::npos;
}

/// Blanks every place of `text` where `known` stands as words of its own.
void blank(std::string& text, std::string_view known) {
  for (auto at = text.find(known); at != std::string::npos; at = text.find(known, at + 1)) {
    const std::size_t end = at + known.size();
    const char before = at == 0 ? ' ' : text[at - 1];
    const char after = end < text.size() ? text[end] : ' ';
    const bool goes_on = (after == '.' || after == ',') && end + 1 < text.size() &&
                         is_digit(text[end + 1]) && is_digit(known.back());
    if (is_word(before) || before == '.' || before == ',' || is_word(after) || goes_on) continue;
    text.replace(at, known.size(), known.size(), ' ');
  }
}

bool has_letter(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

bool has_digit(std::string_view text) { return std::ranges::any_of(text, is_digit); }

class PageReader {
 public:
  explicit PageReader(const StudyValues& values) : values_(values) {}

  void read(std::string_view page) {
    const auto lines = lines_of(page);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].starts_with("```")) {
        i = read_fence(lines, i);
      } else if (i + 1 < lines.size() && is_rule(lines[i + 1])) {
        columns_ = cells_of(lines[i]);
      } else if (!is_rule(lines[i])) {
        read_line(lines[i], i + 1);
      }
    }
  }

  std::vector<PageFragment> take() { return std::move(fragments_); }

 private:
  std::size_t read_fence(const std::vector<std::string_view>& lines, std::size_t first) {
    const std::string_view fence = lines[first].substr(0, lines[first].find_first_not_of('`'));
    PageFragment fragment;
    fragment.line = first + 1;
    fragment.fenced = true;
    std::size_t i = first + 1;
    for (; i < lines.size() && lines[i] != fence; ++i)
      fragment.text += std::string(lines[i]) + "\n";
    fragments_.push_back(std::move(fragment));
    return i;
  }

  void read_line(std::string_view line, std::size_t number) {
    if (!line.starts_with('|')) columns_.clear();
    PageFragment fragment;
    fragment.line = number;
    const std::vector<std::string> cells = cells_of(line);
    for (const std::string& cell : cells) add_names(fragment, cell, values_);
    if (line.starts_with("# ") || line.starts_with("## ")) section_.clear();
    if (line.starts_with("### ")) section_ = fragment.models;
    if (fragment.models.empty()) fragment.models = section_;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      fragment.text = cells[i];
      fragment.column = i < columns_.size() ? columns_[i] : "";
      if (has_digit(cells[i])) fragments_.push_back(fragment);
    }
  }

  const StudyValues& values_;
  std::vector<std::string> columns_;
  std::set<std::string, std::less<>> section_;
  std::vector<PageFragment> fragments_;
};

}  // namespace

std::vector<PageFragment> page_fragments(std::string_view page, const StudyValues& values) {
  PageReader reader(values);
  reader.read(page);
  return reader.take();
}

std::vector<std::string> unexplained_text(const PageFragment& fragment, const StudyValues& values) {
  if (fragment.fenced) {
    const bool is_spec = fragment.text == values.spec || fragment.text == values.spec + "\n";
    return is_spec ? std::vector<std::string>{} : std::vector{fragment.text};
  }
  std::vector<std::string> left;
  const std::vector<std::string> pieces = split_at_code(fragment.text);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::string piece = pieces[i];
    if (i % 2 == 1 && std::ranges::find(values.texts, piece) != values.texts.end()) continue;
    for (const std::string& text : values.texts) {
      if (!has_digit(piece)) break;
      if (text.size() <= piece.size() && has_letter(text)) blank(piece, text);
    }
    for (const std::string_view word : kWords) blank(piece, word);
    if (has_digit(piece)) left.push_back(std::move(piece));
  }
  return left;
}

}  // namespace assay::study
