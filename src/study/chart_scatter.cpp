#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/chart.h"
#include "study/chart_axis.h"
#include "study/html.h"

namespace assay::study::chart {
namespace {

constexpr double kHeight = 330;
constexpr double kTop = 26;
constexpr double kBottom = kHeight - 40;
constexpr double kLeft = 14;  ///< percent, for the axis' numbers
constexpr double kLine = 15;  ///< between two labels
constexpr std::size_t kMostCharacters = 22;

struct Bounds {
  Interval x;
  Interval y;
};

Interval widened(Interval range, double least) {
  const double margin = std::max((range.high - range.low) * 0.12, least);
  return {range.low - margin, range.high + margin};
}

Bounds bounds_of(const std::vector<Point>& points, double mark_x) {
  Bounds bounds{{mark_x, mark_x}, {INFINITY, -INFINITY}};
  for (const Point& point : points) {
    bounds.x = {std::min(bounds.x.low, point.x_interval.low),
                std::max(bounds.x.high, point.x_interval.high)};
    bounds.y = {std::min(bounds.y.low, point.y_interval.low),
                std::max(bounds.y.high, point.y_interval.high)};
  }
  if (points.empty()) bounds.y = {0, 1};
  return {widened(bounds.x, 0.05), widened(bounds.y, 1)};
}

/// In pixels around its own place, which is at a percentage of the width.
std::string marker(const Point& point, double x, double y) {
  const char* shape = point.good ? "<circle r=\"6\" class=\"dot good\"/>"
                                 : "<path d=\"M0 -7L7 0L0 7L-7 0Z\" class=\"dot open\"/>";
  return fmt::format("<svg x=\"{:.2f}%\" y=\"{:.1f}\" overflow=\"visible\">{}{}</svg>\n", x, y,
                     hint(point.text), shape);
}

/// Where labels go so that none lies on another: downwards from the highest point.
std::vector<double> label_places(const std::vector<Point>& points, const Scale& x, const Scale& y) {
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return y(points[i].y); });
  std::vector<double> places(points.size());
  for (std::size_t n = 0; n < order.size(); ++n) {
    double& place = places[order[n]] = y(points[order[n]].y) - 10;
    for (std::size_t before = 0; before < n; ++before) {
      const double apart = std::abs(x(points[order[before]].x) - x(points[order[n]].x));
      if (apart < 45) place = std::max(place, places[order[before]] + kLine);
    }
  }
  return places;
}

}  // namespace

std::string scatter(const Caption& caption, const std::vector<Point>& points,
                    const std::string& x_unit, const std::string& y_unit, double mark_x,
                    const std::string& mark_text) {
  const Bounds bounds = bounds_of(points, mark_x);
  const Scale x(bounds.x.low, bounds.x.high, kLeft, 100);
  const Scale y(bounds.y.low, bounds.y.high, kBottom, kTop);
  std::string body;
  for (const double tick : ticks(bounds.y.low, bounds.y.high, 5)) {
    body += line(kLeft, y(tick), 100, y(tick), "grid");
    body += text_at(0, y(tick) + 4, "start", "tick", tick_text(tick) + y_unit);
  }
  for (const double tick : ticks(bounds.x.low, bounds.x.high, 4)) {
    if (x(tick) < kLeft + 2 || x(tick) > 97) continue;
    body += line(x(tick), kBottom, x(tick), kBottom + 5, "axis");
    body += text_at(x(tick), kBottom + 19, "middle", "tick", tick_text(tick) + x_unit);
  }
  body += line(kLeft, kBottom, 100, kBottom, "axis");
  body += line(x(mark_x), kTop, x(mark_x), kBottom, "equal");
  body += text_at(x(mark_x), kTop - 8, x(mark_x) < 50 ? "start" : "end", "tick", mark_text);
  const std::vector<double> places = label_places(points, x, y);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const double px = x(point.x);
    const double py = y(point.y);
    body += line(x(point.x_interval.low), py, x(point.x_interval.high), py, "whisker");
    body += line(px, y(point.y_interval.low), px, y(point.y_interval.high), "whisker");
    body += marker(point, px, py);
    const bool left = px > 55;
    body += text_at(px, places[i], left ? "end" : "start", "label",
                    (point.good ? "✓ " : "") + shortened(point.label, kMostCharacters),
                    left ? -10 : 10);
  }
  return figure_of(caption, kHeight, body);
}

}  // namespace assay::study::chart
