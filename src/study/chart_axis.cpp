#include "study/chart_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/html.h"

namespace assay::study::chart {

std::vector<double> ticks(double low, double high, int about) {
  std::vector<double> values;
  if (!(high > low) || !std::isfinite(high - low) || about < 1) return values;
  const double rough = (high - low) / about;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double part = rough / power;
  const double step = power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + step * 1e-9 && values.size() < 50; ++i) {
    values.push_back(i * step);
  }
  return values;
}

Scale::Scale(double low, double high, double from, double to)
    : low_(low), high_(high > low ? high : low + 1), from_(from), to_(to) {}

double Scale::operator()(double value) const {
  const double part = std::clamp((value - low_) / (high_ - low_), 0.0, 1.0);
  return from_ + part * (to_ - from_);
}

std::string tick_text(double value) {
  return std::abs(value) < 1e-12 ? "0" : fmt::format("{:.6g}", value);
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins && ++characters > most) return std::string(text.substr(0, i)) + "…";
  }
  return std::string(text);
}

std::string figure_of(const Caption& caption, double height, const std::string& body) {
  return fmt::format(
      "<figure class=\"chart\"><figcaption><strong>{0}</strong> {1}</figcaption>\n"
      "<svg width=\"100%\" height=\"{2:.0f}\" role=\"img\" aria-label=\"{0}. "
      "{3}\">\n{4}</svg></figure>\n",
      escape(caption.title), escape(caption.text), height, escape(caption.description), body);
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view css,
                    std::string_view text, double dx) {
  const std::string aside = dx == 0 ? "" : fmt::format(" dx=\"{:.0f}\"", dx);
  return fmt::format(
      "<text x=\"{:.2f}%\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\"{}>{}</text>\n", x, y,
      anchor, css, aside, escape(text));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view css) {
  return fmt::format(
      "<line x1=\"{:.2f}%\" y1=\"{:.1f}\" x2=\"{:.2f}%\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1,
      x2, y2, css);
}

std::string hint(std::string_view text) {
  return text.empty() ? "" : fmt::format("<title>{}</title>", escape(text));
}

}  // namespace assay::study::chart
