#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/chart.h"
#include "study/chart_axis.h"

namespace assay::study::chart {
namespace {

constexpr double kRow = 58;
constexpr double kLabel = 15;
constexpr double kMiddle = 36;  ///< the box's middle in its row
constexpr double kHalf = 9;     ///< half its thickness
constexpr std::size_t kMostDots = 60;

/// Of sorted values: the one at `part` of the way, between neighbours.
double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

struct Box {
  std::vector<double> sorted;
  double low, first, middle, third, high;
};

Box box_of(std::vector<double> values) {
  std::ranges::sort(values);
  Box box{{}, 0, 0, 0, 0, 0};
  box.low = quantile(values, 0.05);
  box.first = quantile(values, 0.25);
  box.middle = quantile(values, 0.5);
  box.third = quantile(values, 0.75);
  box.high = quantile(values, 0.95);
  box.sorted = std::move(values);
  return box;
}

/// At most kMostDots samples, evenly chosen by size, the ends among them; each a little above or
/// below the next so that equal ones show.
std::string dots(const Box& box, const Scale& x, double y) {
  const std::size_t size = box.sorted.size();
  const std::size_t shown = std::min(size, kMostDots);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t at = shown < 2 ? 0 : i * (size - 1) / (shown - 1);
    const double aside = static_cast<double>(i * 5 % 7) - 3;
    text += fmt::format("<circle cx=\"{:.2f}%\" cy=\"{:.1f}\" r=\"1.8\" class=\"sample\"/>",
                        x(box.sorted[at]), y + aside);
  }
  return text + "\n";
}

std::string drawn(const Box& box, const Scale& x, double y) {
  const double left = x(box.first);
  std::string text = line(x(box.low), y, x(box.high), y, "whisker");
  text += fmt::format(
      "<rect x=\"{:.2f}%\" y=\"{:.1f}\" width=\"{:.2f}%\" height=\"{}\" rx=\"2\" class=\"box\"/>\n",
      left, y - kHalf, std::max(x(box.third) - left, 0.4), 2 * kHalf);
  text += line(x(box.middle), y - kHalf - 3, x(box.middle), y + kHalf + 3, "median");
  return text + dots(box, x, y);
}

}  // namespace

std::string boxes(const Caption& caption, const std::vector<Samples>& rows,
                  const std::string& unit) {
  std::vector<Box> all;
  double least = INFINITY;
  double most = 0;
  for (const Samples& row : rows) {
    all.push_back(box_of(row.values));
    least = std::min(least, all.back().sorted.front());
    // One sample that something held up must not press all others into a corner.
    most = std::max(most, std::min(all.back().sorted.back(), 1.25 * all.back().high));
  }
  if (rows.empty() || least < 0.4 * most) least = 0;
  const double margin = 0.04 * (most - least);
  const double from = least == 0 ? 0 : least - margin;
  const Scale x(from, most + margin, 0, 100);
  const double height = kRow * static_cast<double>(rows.size()) + 24;
  std::string body;
  for (const double tick : ticks(from, most + margin, 4)) {
    body += line(x(tick), 4, x(tick), height - 20, "grid");
    body += text_at(x(tick), height - 5,
                    x(tick) < 5    ? "start"
                    : x(tick) > 93 ? "end"
                                   : "middle",
                    "tick", tick_text(tick) + unit);
  }
  double top = 0;
  for (std::size_t i = 0; i < rows.size(); ++i, top += kRow) {
    body += "<g>" + hint(rows[i].label + ": " + rows[i].text);
    body += text_at(0, top + kLabel, "start", "label", shortened(rows[i].label, 26));
    body += text_at(100, top + kLabel, "end", "value", rows[i].text);
    body += drawn(all[i], x, top + kMiddle) + "</g>\n";
  }
  return figure_of(caption, height, body);
}

}  // namespace assay::study::chart
