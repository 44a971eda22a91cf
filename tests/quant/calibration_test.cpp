/// The calibration file: what is written is read, and nothing that lies is.
#include "quant/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "graph/toy.h"

namespace assay::quant {
namespace {

using graph::error_of;
using testing::HasSubstr;

Calibration example() {
  return {"toy",
          "00ff",
          {"max", 500, 20, 3, 0},
          {{"stem.conv", {0, 1}},
           {"head \"fc\"", {-1.25e-30F, std::numeric_limits<float>::max()}},
           {"odd", {-0.1F, 0.2F}}}};
}

TEST(CalibrationFile, HasOneLayerALine) {
  EXPECT_EQ(to_text(example()),
            "{\n\"format\": \"assay calibration\",\n\"version\": 1,\n\"architecture\": \"toy\",\n"
            "\"graph\": \"00ff\",\n\"observer\": \"max\",\n\"images\": 500,\n\"stride\": 20,\n"
            "\"offset\": 3,\n\"limit\": 0,\n\"layers\": [\n"
            "{\"layer\": \"stem.conv\", \"min\": 0, \"max\": 1},\n"
            "{\"layer\": \"head \\\"fc\\\"\", \"min\": -1.25e-30, \"max\": 3.40282347e+38},\n"
            "{\"layer\": \"odd\", \"min\": -0.100000001, \"max\": 0.200000003}\n]\n}\n");
}

TEST(CalibrationFile, ComesBackTheSame) {
  const auto path = std::filesystem::path(testing::TempDir()) / "assay_calibration_test.json";
  write_calibration(example(), path);
  EXPECT_EQ(read_calibration(path), example());
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { read_calibration(path); }).first, ErrorKind::not_found);
}

TEST(CalibrationFile, ANameThatIsNotUtf8IsRefused) {
  Calibration calibration = example();
  calibration.layers[0].layer = "\xff";
  EXPECT_EQ(error_of([&] { to_text(calibration); }).first, ErrorKind::bad_input);
}

/// Replaces `from` in a good file and expects a refusal in these words.
void expect_refused(const std::string& from, const std::string& to, const std::string& words,
                    ErrorKind wanted = ErrorKind::corrupt) {
  std::string text = to_text(example());
  const auto place = text.find(from);
  ASSERT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
  const auto [kind, message] = error_of([&] { parse_calibration(text, "c.json"); });
  EXPECT_EQ(kind, wanted) << to;
  EXPECT_THAT(message, testing::StartsWith("c.json"));
  EXPECT_THAT(message, HasSubstr(words));
}

TEST(CalibrationFile, RefusesWhatItIsNot) {
  expect_refused("assay calibration", "assay recipe", "is not a calibration", ErrorKind::bad_input);
  expect_refused("\"version\": 1", "\"version\": 2", "version 2", ErrorKind::unsupported);
  expect_refused("\"version\": 1", "\"version\": 0", "'version'");
  expect_refused("\"max\",", "\"min\",", "observer 'min'", ErrorKind::unsupported);
  expect_refused("\"version\": 1,", "\"version\": 1,,", "JSON", ErrorKind::bad_input);
}

TEST(CalibrationFile, RefusesFieldsThatLie) {
  expect_refused("\"images\": 500", "\"images\": 0", "'images'");
  expect_refused("\"images\": 500", "\"images\": -1", "'images'");
  expect_refused("\"images\": 500", "\"images\": 1e3", "'images'");
  expect_refused("\"stride\": 20", "\"stride\": 0", "'stride'");
  expect_refused("\"limit\": 0", "\"limit\": 20", "more than its limit");
  expect_refused("\"graph\": \"00ff\"", "\"graph\": 255", "'graph'");
  expect_refused("\"graph\": \"00ff\",", "", "no 'graph'");
  expect_refused("\"offset\": 3", "\"offset\": 3, \"machine\": 1", "'machine' is not known");
  expect_refused("\"min\": 0,", "\"min\": 2,", "layer 0 ('stem.conv'): its min 2 is above");
  expect_refused("\"min\": 0,", "\"min\": null,", "layer 0: 'min'");
  expect_refused("\"min\": 0,", "\"min\": -1e39,", "layer 0: 'min'");
  expect_refused("\"min\": 0,", "\"min\": -1e400,", "", ErrorKind::bad_input);
  expect_refused("\"min\": 0,", "", "layer 0 has no 'min'");
  expect_refused("\"stem.conv\"", "\"\"", "layer 0: 'layer'");
  expect_refused("\"stem.conv\"", "\"odd\"", "layer 'odd' appears twice");
  expect_refused("\"layers\": [", "\"layers\": [[],", "layer 0 is not an object");
}

TEST(CalibrationFile, AnEditedNumberIsTheNearestFp32) {
  std::string text = to_text(example());
  text.replace(text.find("-0.100000001"), 12, "-0.1");
  EXPECT_EQ(parse_calibration(text, "c.json"), example());
}

}  // namespace
}  // namespace assay::quant
