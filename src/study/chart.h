#pragma once
/// Charts as inline SVG, without scripts. Each is as wide as its place on the page: horizontal
/// positions are percentages and text keeps its size, so that a chart reads on a phone as well.
/// Colours are the page's CSS variables; no meaning is in colour alone. All text is escaped here.
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.h"

namespace assay::study::chart {

/// What stands around a chart.
struct Caption {
  std::string title;
  std::string text;         ///< how to read it, plain
  std::string description;  ///< the chart in words, for those who do not see it
};

struct Bar {
  std::string label;
  std::optional<double> value;  ///< finite; no bar without
  std::optional<Interval> interval;
  std::string text;   ///< the value as written
  bool good = false;  ///< drawn in the colour of what ships, with a tick before its label
};

/// Horizontal bars from `from` on, each under its label.
std::string bars(const Caption& caption, const std::vector<Bar>& rows, double from = 0);

struct Point {
  std::string label;
  double x = 0;  ///< finite, as all of these are
  double y = 0;
  Interval x_interval;
  Interval y_interval;
  bool good = false;  ///< a full disc; a hollow diamond otherwise
  std::string text;   ///< shown when pointed at
};

/// Points with their intervals. `mark_x` is drawn as a line with `mark_text`.
std::string scatter(const Caption& caption, const std::vector<Point>& points,
                    const std::string& x_unit, const std::string& y_unit, double mark_x,
                    const std::string& mark_text);

struct Samples {
  std::string label;
  std::vector<double> values;  ///< finite, not empty
  Interval median_interval;
  std::string text;
};

/// Box plots: the box holds the middle half, its line is the median, the whiskers hold nine in ten
/// samples, dots are samples.
std::string boxes(const Caption& caption, const std::vector<Samples>& rows,
                  const std::string& unit);

struct Column {
  std::string label;
  double value = 0;  ///< finite
  std::string text;
  int rank = 0;  ///< from 1: among the highest; 0: not
};

/// Narrow columns in order, the highest ones emphasized and the first three numbered. `axis` writes
/// a value at the axis.
std::string columns(const Caption& caption, const std::vector<Column>& entries, double from,
                    std::string (*axis)(double));

struct LayerDot {
  std::string label;
  double value = 0;    ///< above 0 and finite, or it is left out
  std::string series;  ///< the format
  std::string text;
};

struct Limit {
  std::string label;
  double value = 0;  ///< above 0
};

/// Dots in order on a logarithmic axis, with a line at each limit; limits far above all dots are
/// named in the caption instead.
std::string log_dots(const Caption& caption, const std::vector<LayerDot>& dots,
                     const std::vector<Limit>& limits);

}  // namespace assay::study::chart
