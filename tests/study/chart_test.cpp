#include "study/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>

#include "study/chart_axis.h"

namespace assay::study::chart {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Caption kCaption{"A <title>", "how to \"read\" it", "all of it"};

/// Every x, cx, x1, x2 and width that is a percentage.
std::vector<double> percentages(const std::string& svg) {
  std::vector<double> found;
  const std::regex pattern(R"re( (?:c?x|x1|x2|width)="([-0-9.a-z]+)%")re");
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    found.push_back(std::stod((*at)[1]));
  }
  return found;
}

void expect_inside(const std::string& svg) {
  for (const double x : percentages(svg)) {
    EXPECT_GE(x, 0) << svg;
    EXPECT_LE(x, 100.01) << svg;
  }
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, HasSubstr("role=\"img\" aria-label=\"A &lt;title&gt;. all of it\""));
}

TEST(ChartTicks, AreRoundAndInside) {
  EXPECT_THAT(ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks(0.93, 2.4, 3), ElementsAre(1, 1.5, 2));
  EXPECT_TRUE(ticks(1, 1, 5).empty());
  EXPECT_TRUE(ticks(0, INFINITY, 5).empty());
}

TEST(ChartScale, HoldsValuesInside) {
  const Scale scale(2, 4, 0, 100);
  EXPECT_EQ(scale(3), 50);
  EXPECT_EQ(scale(9), 100);
  EXPECT_EQ(scale(-9), 0);
  EXPECT_EQ(Scale(5, 5, 0, 100)(5), 0);
}

TEST(ChartText, IsCutBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("äöü", 2), "äö…");
}

TEST(ChartBars, DrawsValuesInProportion) {
  const std::string svg = bars(kCaption, {{"a", 10, Interval{9, 10}, "10", true},
                                          {"b <&> \"", 5, std::nullopt, "5", false},
                                          {"c", std::nullopt, std::nullopt, "no noise", false}});
  expect_inside(svg);
  EXPECT_THAT(svg, HasSubstr("width=\"100.00%\""));
  EXPECT_THAT(svg, HasSubstr("width=\"50.00%\""));
  EXPECT_THAT(svg, HasSubstr("✓ a"));
  EXPECT_THAT(svg, HasSubstr("b &lt;&amp;&gt; &quot;"));
  EXPECT_THAT(svg, HasSubstr("no noise"));
  expect_inside(bars(kCaption, {}));
  expect_inside(bars(kCaption, {{"zero", 0, std::nullopt, "0", false}}));
}

TEST(ChartScatter, MarksWhatShipsByShape) {
  const Point good{"g", 2, 40, {1.9, 2.1}, {39, 41}, true, "t"};
  const Point other{"o", 1.5, 20, {1.4, 1.6}, {19, 21}, false, "t"};
  const std::string svg = scatter(kCaption, {good, other}, "×", " dB", 1, "equal");
  expect_inside(svg);
  EXPECT_THAT(svg, HasSubstr("<circle r=\"6\" class=\"dot good\"/>"));
  EXPECT_THAT(svg, HasSubstr("class=\"dot open\""));
  EXPECT_THAT(svg, HasSubstr("✓ g"));
  expect_inside(scatter(kCaption, {}, "×", " dB", 1, "equal"));
}

TEST(ChartScatter, KeepsLabelsApart) {
  const Point point{"same", 2, 40, {2, 2}, {40, 40}, true, ""};
  const std::string svg = scatter(kCaption, {point, point, point}, "×", " dB", 1, "equal");
  std::set<std::string> places;
  const std::regex label(R"re(y="([0-9.]+)" text-anchor="\w+" class="label")re");
  for (std::sregex_iterator at(svg.begin(), svg.end(), label), end; at != end; ++at) {
    places.insert((*at)[1]);
  }
  EXPECT_EQ(places.size(), 3U);
}

TEST(ChartBoxes, ShowsMedianAndFewDots) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(5 + 0.001 * i);
  values.push_back(500);
  const std::string svg = boxes(kCaption, {{"a", values, {5, 6}, "5.5 ms"}}, " ms");
  expect_inside(svg);
  const std::regex dot("class=\"sample\"");
  EXPECT_EQ(std::distance(std::sregex_iterator(svg.begin(), svg.end(), dot), {}), 60);
  expect_inside(boxes(kCaption, {{"one", {3}, {3, 3}, "3 ms"}}, " ms"));
  expect_inside(boxes(kCaption, {}, " ms"));
}

TEST(ChartColumns, NumbersTheThreeHighest) {
  std::vector<Column> entries;
  for (int i = 0; i < 12; ++i) entries.push_back({"l", -40.0 + i, "t", i > 7 ? 12 - i : 0});
  const std::string svg = columns(kCaption, entries, -45, [](double v) { return tick_text(v); });
  expect_inside(svg);
  EXPECT_THAT(svg, HasSubstr(">3</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">4</text>")));
  EXPECT_THAT(svg, HasSubstr("class=\"column high\""));
}

TEST(ChartLogDots, LeavesOutWhatHasNoLogarithmAndFarLimits) {
  const std::string svg = log_dots(
      kCaption, {{"a", 10, "fp8", "t"}, {"b", 0, "fp8", "t"}, {"c", INFINITY, "fp16", "t"}},
      {{"fp8: 448", 448}, {"bf16: 3e38", 3e38}});
  expect_inside(svg);
  EXPECT_THAT(svg, HasSubstr(">fp8: 448</text>"));
  EXPECT_THAT(svg, HasSubstr("bf16: 3e38 lies far above the chart."));
  EXPECT_THAT(svg, HasSubstr("class=\"legend\""));
  expect_inside(log_dots(kCaption, {}, {}));
}

}  // namespace
}  // namespace assay::study::chart
