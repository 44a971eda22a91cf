#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "study/chart.h"
#include "study/chart_axis.h"
#include "study/html.h"

namespace assay::study::chart {
namespace {

constexpr double kHeight = 230;
constexpr double kTop = 22;
constexpr double kBottom = kHeight - 28;

/// The centre of entry `i` of `size`, in percent; room at the left for the axis' numbers.
double centre(std::size_t i, std::size_t size) {
  constexpr double kLeft = 11;
  return kLeft + (100 - kLeft) * (static_cast<double>(i) + 0.5) / static_cast<double>(size);
}

std::string ends_of_network() {
  return line(10, kBottom, 100, kBottom, "axis") +
         text_at(11, kHeight - 8, "start", "tick", "first layer") +
         text_at(100, kHeight - 8, "end", "tick", "last layer →");
}

/// Disc, square, triangle, diamond: one a series.
std::string shape(std::size_t series) {
  switch (series % 4) {
    case 0:
      return "<circle r=\"3.5\" class=\"dot s0\"/>";
    case 1:
      return "<rect x=\"-3.5\" y=\"-3.5\" width=\"7\" height=\"7\" class=\"dot s1\"/>";
    case 2:
      return "<path d=\"M0 -4.5L4.5 3.5L-4.5 3.5Z\" class=\"dot s2\"/>";
    default:
      return "<path d=\"M0 -5L5 0L0 5L-5 0Z\" class=\"dot s3\"/>";
  }
}

std::string placed(double x, double y, const std::string& inside) {
  return fmt::format("<svg x=\"{:.2f}%\" y=\"{:.1f}\" overflow=\"visible\">{}</svg>\n", x, y,
                     inside);
}

/// "10", "1,000" would be long: powers of ten as 10 with its exponent.
std::string power_text(int exponent) {
  if (exponent >= 0 && exponent <= 3) return fmt::format("{:.0f}", std::pow(10, exponent));
  static const std::map<char, std::string> raised{{'-', "⁻"}, {'0', "⁰"}, {'1', "¹"}, {'2', "²"},
                                                  {'3', "³"}, {'4', "⁴"}, {'5', "⁵"}, {'6', "⁶"},
                                                  {'7', "⁷"}, {'8', "⁸"}, {'9', "⁹"}};
  std::string text = "10";
  for (const char digit : std::to_string(exponent)) text += raised.at(digit);
  return text;
}

std::string legend(const std::map<std::string, std::size_t>& series) {
  if (series.size() < 2) return "";
  std::string text = "<ul class=\"legend\">";
  for (const auto& [name, index] : series) {
    text += fmt::format(
        "<li><svg width=\"14\" height=\"14\" viewBox=\"-7 -7 14 14\" "
        "aria-hidden=\"true\">{}</svg>{}</li>",
        shape(index), escape(name));
  }
  return text + "</ul>";
}

}  // namespace

std::string columns(const Caption& caption, const std::vector<Column>& entries, double from,
                    std::string (*axis)(double)) {
  double most = from;
  for (const Column& entry : entries) most = std::max(most, entry.value);
  const double end = most + 0.06 * (most - from);
  const Scale y(from, end, kBottom, kTop);
  std::string body;
  for (const double tick : ticks(from, end, 4)) {
    body += line(10, y(tick), 100, y(tick), "grid");
    body += text_at(0, y(tick) + 4, "start", "tick", axis(tick));
  }
  const double width = entries.empty() ? 0 : 89.0 / static_cast<double>(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Column& entry = entries[i];
    const double x = centre(i, entries.size());
    const double top = y(entry.value);
    body += fmt::format(
        "<g>{}<rect x=\"{:.2f}%\" y=\"{:.1f}\" width=\"{:.2f}%\" height=\"{:.1f}\" class=\"{}\"/>",
        hint(entry.label + ": " + entry.text), x - 0.4 * width, top, 0.8 * width,
        std::max(kBottom - top, 1.0), entry.rank > 0 ? "column high" : "column");
    if (entry.rank > 0 && entry.rank <= 3) {
      body += text_at(x, top - 5, "middle", "value", std::to_string(entry.rank));
    }
    body += "</g>\n";
  }
  return figure_of(caption, kHeight, body + ends_of_network());
}

std::string log_dots(const Caption& caption, const std::vector<LayerDot>& dots,
                     const std::vector<Limit>& limits) {
  const auto drawable = [](double value) { return std::isfinite(value) && value > 0; };
  double least = INFINITY;
  double most = 0;
  for (const LayerDot& dot : dots) {
    if (!drawable(dot.value)) continue;
    least = std::min(least, dot.value);
    most = std::max(most, dot.value);
  }
  if (most == 0) least = most = 1;
  // A limit a thousand times above everything would leave the dots no room.
  double top = most;
  for (const Limit& limit : limits) {
    if (limit.value <= 1000 * most) top = std::max(top, limit.value);
  }
  const double low = std::floor(std::log10(least) - 0.1);
  const double high = std::log10(top) + 0.35;
  const Scale y(low, high, kBottom, kTop);
  std::string body;
  for (const double tick : ticks(low, high, high - low > 8 ? 4 : 8)) {
    if (tick != std::floor(tick)) continue;
    body += line(10, y(tick), 100, y(tick), "grid");
    body += text_at(0, y(tick) + 4, "start", "tick", power_text(static_cast<int>(tick)));
  }
  Caption whole = caption;
  for (const Limit& limit : limits) {
    if (limit.value > top) {
      whole.text += " " + limit.label + " lies far above the chart.";
      continue;
    }
    const double at = y(std::log10(limit.value));
    body += line(10, at, 100, at, "limit") + text_at(100, at - 5, "end", "value", limit.label);
  }
  std::map<std::string, std::size_t> series;
  for (const LayerDot& dot : dots) series.emplace(dot.series, series.size());
  for (std::size_t i = 0; i < dots.size(); ++i) {
    if (!drawable(dots[i].value)) continue;
    body += placed(centre(i, dots.size()), y(std::log10(dots[i].value)),
                   hint(dots[i].label + ": " + dots[i].text) + shape(series[dots[i].series]));
  }
  std::string figure = figure_of(whole, kHeight, body + ends_of_network());
  const std::string key = legend(series);
  if (!key.empty()) figure.insert(figure.rfind("</figure>"), key);
  return figure;
}

}  // namespace assay::study::chart
