#include "study/layer_plot.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "study/html.h"

namespace assay::study {
namespace {

constexpr int kWidth = 860;
constexpr int kLeft = 360;
constexpr int kRight = 70;
constexpr int kRow = 20;
constexpr int kTop = 64;
/// Characters of a layer's name that fit beside its bar; its end says most.
constexpr std::size_t kNameLength = 48;

std::string shown_name(const std::string& layer) {
  if (layer.size() <= kNameLength) return layer;
  return "…" + layer.substr(layer.size() - kNameLength);
}

/// The axis from 0 to a round number that all bars fit in.
double axis_end(const std::vector<LayerBar>& layers) {
  double largest = 10;
  for (const LayerBar& layer : layers)
    if (std::isfinite(layer.sqnr_db)) largest = std::max(largest, layer.sqnr_db);
  return 10 * std::ceil(largest / 10);
}

double x_of(double decibels, double end) {
  return kLeft + (kWidth - kLeft - kRight) * std::clamp(decibels / end, 0.0, 1.0);
}

std::string grid(double end, int bottom) {
  std::string lines;
  for (double mark = 0; mark <= end; mark += 10) {
    const double x = x_of(mark, end);
    lines += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" class=\"grid\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.0f} dB</text>\n",
        x, kTop - 6, bottom, kTop - 12, mark);
  }
  return lines;
}

std::string bar(const LayerBar& layer, double end, int y) {
  const double x = std::isfinite(layer.sqnr_db) ? x_of(layer.sqnr_db, end) : kLeft;
  const std::string value = std::isfinite(layer.sqnr_db) ? fmt::format("{:.1f}", layer.sqnr_db)
                            : layer.sqnr_db > 0          ? "no noise"
                                                         : "not finite";
  return fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
      "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" class=\"bar\"/>"
      "<text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
      kLeft - 8, y + 14, escape(shown_name(layer.layer)), kLeft, y + 4, x - kLeft, kRow - 7, x + 5,
      y + 14, value);
}

}  // namespace

std::string layer_plot(const std::string& title, const std::vector<LayerBar>& layers) {
  const int bottom = kTop + kRow * static_cast<int>(layers.size());
  const double end = axis_end(layers);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<title>{2}</title>\n"
      "<style>svg {{ color: #1b1f24; background: #ffffff; font: 12px system-ui, sans-serif }}\n"
      "text {{ fill: currentColor }} .bar {{ fill: #2f6fb0 }} .grid {{ stroke: #8884 }}\n"
      "@media (prefers-color-scheme: dark) {{ svg {{ color: #e6e9ec; background: #16191d }}\n"
      ".bar {{ fill: #6ea8e0 }} }}</style>\n"
      "<text x=\"12\" y=\"24\" font-size=\"15\" font-weight=\"600\">{2}</text>\n",
      kWidth, bottom + 16, escape(title));
  svg += grid(end, bottom);
  for (std::size_t i = 0; i < layers.size(); ++i)
    svg += bar(layers[i], end, kTop + kRow * static_cast<int>(i));
  return svg + "</svg>\n";
}

}  // namespace assay::study
