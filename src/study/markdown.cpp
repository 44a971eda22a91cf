#include "study/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace assay::study {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCodeIndent = 4;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// A line that opens or closes a block of code: how many of which character.
struct Fence {
  char character = 0;
  std::size_t length = 0;
  bool bare = false;  ///< nothing stands behind it, as a closing one needs
};

std::optional<Fence> fence_of(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (text.empty() || (text[0] != '`' && text[0] != '~')) return std::nullopt;
  const std::size_t length = std::min(text.find_first_not_of(text[0]), text.size());
  constexpr std::size_t kShortest = 3;
  if (length < kShortest) return std::nullopt;
  const std::string_view behind = text.substr(length);
  // With one behind it on its line it is a span of code.
  if (text[0] == '`' && behind.find('`') != std::string_view::npos) return std::nullopt;
  return Fence{text[0], length, trimmed(behind).empty()};
}

/// Cells of a table's row: pipes part them, escaped ones do not; those at the ends are no cells.
std::size_t cells_of(std::string_view line) {
  std::string_view text = trimmed(line);
  if (text.starts_with('|')) text.remove_prefix(1);
  std::size_t pipes = 0;
  bool last_is_pipe = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
      last_is_pipe = false;
      continue;
    }
    last_is_pipe = text[i] == '|';
    pipes += last_is_pipe ? 1 : 0;
  }
  return pipes + (last_is_pipe ? 0 : 1);
}

/// The line below a table's head: "|---|:-:|".
bool is_delimiter_row(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.find('|') != std::string_view::npos && text.find('-') != std::string_view::npos &&
         text.find_first_not_of("|:- \t") == std::string_view::npos;
}

/// Whether a line ends the table above it.
bool ends_table(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.empty() || text[0] == '#' || text[0] == '>' || fence_of(line).has_value();
}

/// The line without its spans of code.
std::string without_code(std::string_view line) {
  std::string text;
  while (true) {
    const auto open = line.find('`');
    if (open == std::string_view::npos) break;
    const auto length = std::min(line.find_first_not_of('`', open), line.size()) - open;
    const std::string ticks(length, '`');
    const auto close = line.find(ticks, open + length);
    if (close == std::string_view::npos) break;
    text += line.substr(0, open);
    line.remove_prefix(close + length);
  }
  return text + std::string(line);
}

/// A longer target than any file system's or browser's is none; looking no further keeps a hostile
/// page's time in proportion to its length.
constexpr std::size_t kLongestTarget = 4096;

/// The targets of "[text](target)", "![picture](<target> \"title\")" and "[label]: target".
std::vector<std::string> targets_of(const std::string& line) {
  std::vector<std::string> targets;
  for (auto at = line.find("]("); at != std::string::npos; at = line.find("](", at + 2)) {
    std::string_view rest = trimmed(std::string_view(line).substr(at + 2, kLongestTarget));
    const bool quoted = rest.starts_with('<');
    if (quoted) rest.remove_prefix(1);
    const auto end = rest.find_first_of(quoted ? ">" : ") ");
    if (end != std::string_view::npos) targets.emplace_back(rest.substr(0, end));
  }
  const std::string_view text = trimmed(line);
  const auto colon = text.find("]: ");
  if (text.starts_with('[') && !text.starts_with("[^") && colon != std::string_view::npos) {
    const std::string_view target = trimmed(text.substr(colon + 3));
    targets.emplace_back(target.substr(0, target.find(' ')));
  }
  return targets;
}

/// "%20" becomes a space.
std::string percent_decoded(std::string_view text) {
  constexpr int kHexadecimal = 16;
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string digits(text.substr(i + 1, 2));
    const bool escaped = text[i] == '%' && digits.size() == 2 &&
                         digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    decoded += escaped ? static_cast<char>(std::stoi(digits, nullptr, kHexadecimal)) : text[i];
    i += escaped ? 2 : 0;
  }
  return decoded;
}

class Page {
 public:
  Page(std::string_view text, const fs::path& path, const fs::path& root)
      : lines_(lines_of(text)), path_(path), root_(root) {}

  std::vector<std::string> check() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      if (inside_fence() || is_indented_code()) continue;
      check_table();
      for (const std::string& target : targets_of(without_code(lines_[at_]))) check_link(target);
    }
    if (fence_) complain(fence_line_, "the code fence is never closed");
    return std::move(problems_);
  }

 private:
  void complain(std::size_t line, std::string_view what) {
    problems_.push_back(fmt::format("{}:{}: {}", path_.string(), line + 1, what));
  }

  /// Opens and closes blocks of code; whether the line belongs to one.
  bool inside_fence() {
    const std::optional<Fence> found = fence_of(lines_[at_]);
    if (fence_) {
      const bool closes = found && found->bare && found->character == fence_->character &&
                          found->length >= fence_->length;
      if (closes) fence_.reset();
      return true;
    }
    if (!found || is_indented_code()) return false;
    fence_ = found;
    fence_line_ = at_;
    columns_ = 0;
    return true;
  }

  /// Code by indentation begins behind an empty line.
  bool is_indented_code() {
    const bool indented = indent_of(lines_[at_]) >= kCodeIndent;
    const bool free = at_ == 0 || trimmed(lines_[at_ - 1]).empty() || was_indented_code_;
    was_indented_code_ = indented && free && !trimmed(lines_[at_]).empty();
    return was_indented_code_;
  }

  void check_table() {
    const std::string_view line = lines_[at_];
    if (columns_ > 0 && ends_table(line)) columns_ = 0;
    if (columns_ > 0) {
      const std::size_t cells = cells_of(line);
      if (cells != columns_) {
        complain(at_,
                 fmt::format("the row has {} cells, the table has {} columns", cells, columns_));
      }
      return;
    }
    const bool below_text = at_ > 0 && lines_[at_ - 1].find('|') != std::string_view::npos;
    if (!below_text || !is_delimiter_row(line)) return;
    const std::size_t head = cells_of(lines_[at_ - 1]);
    columns_ = cells_of(line);
    if (head != columns_) {
      complain(at_ - 1, fmt::format("the table's head has {} cells, the line of dashes has {}",
                                    head, columns_));
    }
  }

  void check_link(std::string target) {
    target = target.substr(0, target.find_first_of("#?"));
    if (target.empty() || target.find(':') != std::string::npos) return;  // within, or elsewhere
    target = percent_decoded(target);
    const fs::path path = (path_.parent_path() / target).lexically_normal();
    std::error_code ignored;
    if (fs::path(target).is_absolute() || !fs::exists(path, ignored)) {
      complain(at_, fmt::format("the link to {} leads nowhere", target));
    } else if (!root_.empty() &&
               *path.lexically_relative(root_.lexically_normal()).begin() == "..") {
      complain(at_, fmt::format("the link to {} leads outside", target));
    }
  }

  std::vector<std::string_view> lines_;
  const fs::path& path_;
  const fs::path& root_;
  std::size_t at_ = 0;
  std::optional<Fence> fence_;
  std::size_t fence_line_ = 0;
  std::size_t columns_ = 0;  ///< of the table that the line may belong to
  bool was_indented_code_ = false;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_markdown(std::string_view text, const fs::path& path,
                                        const fs::path& root) {
  return Page(text, path, root).check();
}

}  // namespace assay::study
