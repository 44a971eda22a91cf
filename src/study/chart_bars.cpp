#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/chart.h"
#include "study/chart_axis.h"

namespace assay::study::chart {
namespace {

constexpr double kRow = 44;
constexpr double kLabel = 15;  ///< the label's baseline in its row
constexpr double kTop = 22;    ///< the bar's upper edge in its row
constexpr double kThick = 12;
constexpr std::size_t kMostCharacters = 30;

double upper_end(const std::vector<Bar>& rows, double from) {
  double most = from;
  for (const Bar& row : rows) {
    if (row.value) most = std::max(most, *row.value);
    if (row.interval && std::isfinite(row.interval->high)) {
      most = std::max(most, row.interval->high);
    }
  }
  return most;
}

std::string whisker(const Interval& interval, const Scale& x, double y) {
  const double low = x(interval.low);
  const double high = x(interval.high);
  return line(low, y, high, y, "whisker") + line(low, y - 4, low, y + 4, "whisker") +
         line(high, y - 4, high, y + 4, "whisker");
}

}  // namespace

std::string bars(const Caption& caption, const std::vector<Bar>& rows, double from) {
  const double most = upper_end(rows, from);
  const Scale x(from, most, 0, 100);
  const double height = kRow * static_cast<double>(rows.size()) + 22;
  std::string body;
  for (const double tick : ticks(from, most, 4)) {
    const double at = x(tick);
    body += line(at, 4, at, height - 20, "grid");
    body += text_at(at, height - 5,
                    at < 5    ? "start"
                    : at > 95 ? "end"
                              : "middle",
                    "tick", tick_text(tick));
  }
  double top = 0;
  for (const Bar& row : rows) {
    body += "<g>" + hint(row.label + ": " + row.text);
    body += text_at(0, top + kLabel, "start", "label",
                    (row.good ? "✓ " : "") + shortened(row.label, kMostCharacters));
    body += text_at(100, top + kLabel, "end", "value", row.text);
    if (row.value) {
      body += fmt::format(
          "<rect x=\"0\" y=\"{:.1f}\" width=\"{:.2f}%\" height=\"{}\" rx=\"2\" class=\"{}\"/>\n",
          top + kTop, std::max(x(*row.value), 0.3), kThick, row.good ? "bar good" : "bar");
    }
    if (row.interval && row.interval->high > row.interval->low) {
      body += whisker(*row.interval, x, top + kTop + kThick / 2);
    }
    body += "</g>\n";
    top += kRow;
  }
  return figure_of(caption, height, body);
}

}  // namespace assay::study::chart
