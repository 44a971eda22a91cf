#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/console.h"

namespace assay::cli {
namespace {

/// Code points: labels may be of any script, and two columns a letter is as wrong as one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

void Table::print(Console& console) const {
  std::vector<std::vector<std::string>> lines;
  std::vector<bool> right;
  for (const std::string& title : header_) right.push_back(title.starts_with('>'));
  if (!header_.empty()) {
    lines.emplace_back();
    for (const std::string& title : header_) {
      lines.back().push_back(title.starts_with('>') ? title.substr(1) : title);
    }
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], width_of(line[i]));
  }
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string padding(widths[i] - width_of(line[i]), ' ');
      const bool to_right = i < right.size() && right[i];
      text += (i > 0 ? "  " : "") + (to_right ? padding + line[i] : line[i] + padding);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    console.line(text);
  }
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 4> kUnits{"B", "kB", "MB", "GB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace assay::cli
