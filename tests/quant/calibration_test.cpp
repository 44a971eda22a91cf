/// The calibration file: what is written is read, and nothing that lies is.
#include "quant/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "graph/toy.h"

namespace assay::quant {
namespace {

using graph::error_of;
using testing::HasSubstr;

Calibration example() {
  const std::map<std::string, Range, std::less<>> all{
      {"max", {-0.5F, 8}}, {"mse_e4m3", {-0.25F, 4}}, {"mse_int8", {-0.1F, 3}}};
  return {"toy",
          "00ff",
          {{"max", "mse"}, 500, 20, 3, 0},
          {{"stem.conv", "input", all, {}, {0.25F, -1e-30F}},
           {"head \"fc\"", "input", all, {8, 0.5F}, {0, 0.2F}},
           {"attn", "query", all, {}, {}},
           {"attn", "key", all, {}, {}}}};
}

TEST(CalibrationFile, HasOneOperandALine) {
  Calibration calibration = example();
  calibration.operands.resize(2);
  const std::string ranges =
      "\"max\": [-0.5, 8], \"mse_e4m3\": [-0.25, 4], \"mse_int8\": [-0.100000001, 3], ";
  EXPECT_EQ(to_text(calibration),
            "{\n\"format\": \"assay calibration\",\n\"version\": 2,\n\"architecture\": \"toy\",\n"
            "\"graph\": \"00ff\",\n\"observers\": [\"max\", \"mse\"],\n\"images\": 500,\n"
            "\"stride\": 20,\n\"offset\": 3,\n\"limit\": 0,\n\"operands\": [\n"
            "{\"layer\": \"stem.conv\", \"operand\": \"input\", " +
                ranges +
                "\"channel_mean\": [0.25, -1e-30]},\n"
                "{\"layer\": \"head \\\"fc\\\"\", \"operand\": \"input\", " +
                ranges + "\"channel_max\": [8, 0.5], \"channel_mean\": [0, 0.200000003]}\n]\n}\n");
}

TEST(CalibrationFile, ComesBackTheSame) {
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("assay_calibration_test." + std::to_string(getpid()) + ".json");
  write_calibration(example(), path);
  EXPECT_EQ(read_calibration(path), example());
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { read_calibration(path); }).first, ErrorKind::not_found);
}

TEST(CalibrationFile, ANameThatIsNotUtf8IsRefused) {
  Calibration calibration = example();
  calibration.operands[0].layer = "\xff";
  EXPECT_EQ(error_of([&] { to_text(calibration); }).first, ErrorKind::bad_input);
}

TEST(CalibrationFile, AnEditedNumberIsTheNearestFp32) {
  std::string text = to_text(example());
  text.replace(text.find("-0.100000001"), 12, "-0.1");
  EXPECT_EQ(parse_calibration(text, "c.json"), example());
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
  expect_refused("\"version\": 2", "\"version\": 1", "calibrate again", ErrorKind::unsupported);
  expect_refused("\"version\": 2", "\"version\": 3", "version 3", ErrorKind::unsupported);
  expect_refused("\"version\": 2", "\"version\": 0", "'version'");
  expect_refused("\"version\": 2", "\"version\": \"2\"", "'version'");
  expect_refused("\"max\", ", "\"min\", ", "observer 'min'", ErrorKind::unsupported);
  expect_refused("\"version\": 2,", "\"version\": 2,,", "JSON", ErrorKind::bad_input);
}

TEST(CalibrationFile, SaysWhatItFoundInstead) {
  const std::map<std::string, std::string> cases{
      {R"([1, 2])", "found JSON that is no object but array"},
      {R"({})", "found an empty object"},
      {R"({"format": 2})", "found a 'format' that is no string"},
      {R"({"format": "assay plan"})", "found 'format' \"assay plan\""},
      {R"({"a": {"b": {"c": {"d": [0]}}}, "e": 1})",
       "found an object with 'a', 'e' and without 'format'"},
      {R"({"a": 1, "b": 2, "c": 3, "d": 4})", "an object with 'a', 'b', 'c', … and without"}};
  for (const auto& [text, words] : cases) {
    const auto [kind, message] = error_of([&] { parse_calibration(text, "c.json"); });
    EXPECT_EQ(kind, ErrorKind::bad_input) << text;
    EXPECT_THAT(message, testing::StartsWith("c.json: is not a calibration: found "));
    EXPECT_THAT(message, HasSubstr(words));
    EXPECT_THAT(message, HasSubstr("expected 'format' \"assay calibration\"; 'assay calibrate'"));
  }
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
  expect_refused("[\"max\", \"mse\"]", "[]", "an observer");
  expect_refused("[\"max\", \"mse\"]", "[\"max\", \"mse\", \"max\"]", "'max' appears twice");
  expect_refused("[\"max\", \"mse\"]", "[\"max\", 1]", "'observers'");
  expect_refused("[\"max\", \"mse\"]", "\"max\"", "'observers'");
  expect_refused("[\"max\", \"mse\"]", "[\"max\"]", "operand 0: 'mse_e4m3' is not known");
  expect_refused("\"operands\": [", "\"operands\": [[],", "operand 0 is not an object");
}

TEST(CalibrationFile, RefusesOperandsThatLie) {
  expect_refused("\"stem.conv\"", "\"\"", "operand 0: 'layer'");
  expect_refused("\"operand\": \"input\"", "\"operand\": \"weight\"", "operand 0: 'operand'");
  expect_refused("\"key\"", "\"query\"", "the query of layer 'attn' appears twice");
  expect_refused("\"max\": [-0.5, 8], ", "", "operand 0 has no 'max'");
  expect_refused("[-0.5, 8]", "[9, 8]", "operand 0 ('stem.conv', input): the low end of 'max', 9");
  for (const char* range : {"[null, 8]", "[\"a\", 8]", "[-0.5, true]", "[-0.5]", "[-1, 0, 1]", "8",
                            "[-1e39, 8]", "[-0.5, 1.1e30]", "[-3.4e38, 3.4e38]"}) {
    expect_refused("[-0.5, 8]", range, "operand 0: 'max'");
  }
  expect_refused("[-0.5, 8]", "[-1.1e30, 8]", "numbers of -1e+30 to 1e+30");
  expect_refused("[-0.5, 8]", "[NaN, 8]", "JSON", ErrorKind::bad_input);
  expect_refused("[-0.5, 8]", "[-1e400, 8]", "", ErrorKind::bad_input);
  expect_refused("[8, 0.5]", "[-8, 0.5]", "operand 1: 'channel_max'");
  expect_refused("[8, 0.5]", "[8, true]", "operand 1: 'channel_max'");
  expect_refused("[0.25, ", "[2e30, ", "operand 0: 'channel_mean'");
}

TEST(RangeOf, FindsTheRangeForTheFormat) {
  const OperandStats stats = example().operands[0];
  EXPECT_EQ(range_of(stats, "max", Format::int8), (Range{-0.5F, 8}));
  EXPECT_EQ(range_of(stats, "max", Format::e4m3), (Range{-0.5F, 8}));
  EXPECT_EQ(range_of(stats, "mse", Format::int8), (Range{-0.1F, 3}));
  EXPECT_EQ(range_of(stats, "mse", Format::e4m3), (Range{-0.25F, 4}));
}

TEST(RangeOf, SaysWhatToCalibrateWith) {
  const OperandStats stats = example().operands[2];
  const auto [kind, message] = error_of([&] { (void)range_of(stats, "entropy", Format::e4m3); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message, HasSubstr("layer 'attn'"));
  EXPECT_THAT(message, HasSubstr("--observer entropy"));
  // Names of ranges are none of observers.
  EXPECT_THAT(error_of([&] { (void)range_of(stats, "mse_int8", Format::int8); }).second,
              HasSubstr("no observer 'mse_int8'; expected max, moving_average"));
}

TEST(Find, TellsOperandsOfOneLayerApart) {
  const Calibration calibration = example();
  EXPECT_EQ(find(calibration, "attn", "key"), &calibration.operands[3]);
  EXPECT_EQ(find(calibration, "attn", "input"), nullptr);
}

}  // namespace
}  // namespace assay::quant
