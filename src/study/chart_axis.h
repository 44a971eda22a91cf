#pragma once
/// What the charts share: ticks, positions, the frame around a drawing.
#include <string>
#include <string_view>
#include <vector>

#include "study/chart.h"

namespace assay::study::chart {

/// Round numbers (1, 2 or 5 times a power of ten) within [low, high], about `about` of them.
std::vector<double> ticks(double low, double high, int about);

/// From a range of values to a range of positions. A range of nothing is widened.
class Scale {
 public:
  Scale(double low, double high, double from, double to);
  double operator()(double value) const;  ///< held within the range

 private:
  double low_, high_, from_, to_;
};

/// A tick's number without needless digits.
std::string tick_text(double value);

/// At most `most` characters, "…" behind what was cut.
std::string shortened(std::string_view text, std::size_t most);

/// The figure: its caption, and an SVG of `height` pixels that holds `body`.
std::string figure_of(const Caption& caption, double height, const std::string& body);

/// SVG text at x percent and y pixels, `dx` pixels aside; `anchor` is start, middle or end.
std::string text_at(double x, double y, std::string_view anchor, std::string_view css,
                    std::string_view text, double dx = 0);

/// A line from (x1 %, y1 px) to (x2 %, y2 px).
std::string line(double x1, double y1, double x2, double y2, std::string_view css);

/// A hint that appears when what holds it is pointed at.
std::string hint(std::string_view text);

}  // namespace assay::study::chart
