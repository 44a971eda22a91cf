#include "study/html.h"

namespace assay::study {

std::string escape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return result;
}

HtmlTable::HtmlTable(std::string_view caption, std::vector<std::string> columns)
    : caption_(caption), columns_(std::move(columns)), number_columns_(columns_.size()) {}

void HtmlTable::row(const std::vector<HtmlCell>& cells) {
  rows_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const HtmlCell& cell = cells[i];
    if (i < number_columns_.size() && cell.number) number_columns_[i] = true;
    std::string attributes = cell.number ? " class=\"n\"" : cell.prose ? " class=\"w\"" : "";
    if (cell.span > 1) attributes += fmt::format(" colspan=\"{}\"", cell.span);
    rows_ += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", attributes, cell.html)
                    : fmt::format("<td{}>{}</td>", attributes, cell.html);
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::text() const {
  if (rows_.empty()) return "";
  std::string head;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    head += fmt::format("<th scope=\"col\"{}>{}</th>", number_columns_[i] ? " class=\"n\"" : "",
                        escape(columns_[i]));
  }
  // The caption stays in view while the table scrolls, so it stands outside. A box that scrolls
  // must be reachable by keyboard, and have a name then.
  return fmt::format(
      "<p class=\"caption\" aria-hidden=\"true\">{0}</p><div class=\"scroll\" tabindex=\"0\" "
      "role=\"region\" aria-label=\"{0}\"><table aria-label=\"{0}\"><thead><tr>{1}</tr></thead>"
      "<tbody>\n{2}</tbody></table></div>\n",
      escape(caption_), head, rows_);
}

HtmlCell with_interval(std::string_view value, std::string_view interval) {
  return {fmt::format("{}<small>{}</small>", escape(value), escape(interval)), true};
}

}  // namespace assay::study
