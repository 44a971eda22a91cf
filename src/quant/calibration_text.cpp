/// The calibration file: docs/calibration-format.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "graph/json_fields.h"
#include "quant/calibration.h"

namespace assay::quant {
namespace {

using graph::JsonFields;

constexpr const char* kFormat = "assay calibration";
constexpr std::int64_t kVersion = 2;
/// A channel takes some 25 bytes; the largest networks have a few hundred thousand.
constexpr std::uint64_t kMaxFileBytes = 64 << 20;
constexpr std::size_t kMaxOperands = std::size_t{1} << 17;
constexpr std::size_t kMaxChannels = std::size_t{1} << 20;
constexpr std::int64_t kMany = std::int64_t{1} << 62;
constexpr std::array<std::string_view, 4> kOperands{"input", "query", "key", "value"};

std::string quoted(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail(ErrorKind::bad_input, "a calibration's name is not UTF-8");
  }
}

/// Nine digits tell any two fp32 numbers apart.
std::string digits(std::span<const float> numbers) {
  std::string text;
  for (const float number : numbers) {
    text += fmt::format("{}{:.9g}", text.empty() ? "" : ", ", number);
  }
  return text;
}

std::string line_of(const OperandStats& stats) {
  std::string line =
      fmt::format(R"({{"layer": {}, "operand": {})", quoted(stats.layer), quoted(stats.operand));
  for (const auto& [name, range] : stats.ranges) {
    line += fmt::format(", {}: [{}]", quoted(name), digits(std::array{range.low, range.high}));
  }
  if (!stats.channel_max.empty()) {
    line += fmt::format(R"(, "channel_max": [{}])", digits(stats.channel_max));
  }
  if (!stats.channel_mean.empty()) {
    line += fmt::format(R"(, "channel_mean": [{}])", digits(stats.channel_mean));
  }
  return line + "}";
}

/// What a file is that says of itself no format, or another.
std::string found_instead(const Json& json) {
  if (!json.is_object()) return fmt::format("JSON that is no object but {}", json.type_name());
  const auto format = json.find("format");
  if (format != json.end() && format->is_string())
    return fmt::format("'format' \"{:.40}\"", format->get<std::string>());
  if (format != json.end()) return "a 'format' that is no string";
  constexpr std::size_t kShown = 3;
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) {
    if (names.size() == kShown) break;
    names.push_back(fmt::format("'{:.40}'", name));
  }
  if (names.empty()) return "an empty object";
  return fmt::format("an object with {}{} and without 'format'", fmt::join(names, ", "),
                     json.size() > kShown ? ", …" : "");
}

bool is_calibration(const Json& json) {
  if (!json.is_object()) return false;
  const auto format = json.find("format");
  return format != json.end() && format->is_string() && format->get<std::string>() == kFormat;
}

void check_head(JsonFields& fields, std::string_view what) {
  static_cast<void>(fields.text("format"));
  const std::int64_t version = fields.integer("version", 1, kMany);
  if (version != kVersion) {
    fail(ErrorKind::unsupported,
         "{}: calibration version {}, this build of Assay knows {}: calibrate again", what, version,
         kVersion);
  }
}

std::vector<std::string> read_observers(JsonFields& fields, std::string_view what) {
  const std::vector<std::string_view> known = observers();
  std::vector<std::string> names;
  for (const Json& entry : fields.array("observers", known.size())) {
    if (!entry.is_string()) fields.refuse("observers", "an array of observers' names");
    names.push_back(entry.get<std::string>());
    if (std::ranges::find(known, names.back()) == known.end()) {
      fail(ErrorKind::unsupported, "{}: observer '{:.40}', this build of Assay knows {}", what,
           names.back(), fmt::join(known, ", "));
    }
  }
  return names;
}

CalibrationSource read_source(JsonFields& fields, std::string_view what) {
  const auto count = [&](const char* name, std::int64_t least) {
    return static_cast<std::uint64_t>(fields.integer(name, least, kMany));
  };
  CalibrationSource source;
  source.observers = read_observers(fields, what);
  source.images = count("images", 1);
  source.stride = count("stride", 1);
  source.offset = count("offset", 0);
  source.limit = count("limit", 0);
  if (const std::string problem = problem_of(source); !problem.empty()) {
    fail(ErrorKind::corrupt, "{}: {}", what, problem);
  }
  return source;
}

/// JSON's numbers are decimal and a person may have written them: the nearest fp32 is meant.
std::vector<float> read_numbers(JsonFields& fields, const std::string& name, std::size_t most,
                                float least) {
  std::vector<float> numbers;
  for (const Json& entry : fields.array(name, most)) {
    const double number = entry.is_number() ? entry.get<double>() : std::nan("");
    if (!(number >= least && std::abs(number) <= kLargestMagnitude)) {
      fields.refuse(name, fmt::format("numbers of {:g} to {:g}", least, kLargestMagnitude));
    }
    numbers.push_back(static_cast<float>(number));
  }
  return numbers;
}

Range read_range(JsonFields& fields, const std::string& name, const std::string& where) {
  const std::vector<float> ends = read_numbers(fields, name, 2, -kLargestMagnitude);
  if (ends.size() != 2) fields.refuse(name, "[low, high]");
  if (ends[0] > ends[1]) {
    fail(ErrorKind::corrupt, "{}: the low end of '{}', {}, is above the high end, {}", where, name,
         ends[0], ends[1]);
  }
  return {ends[0], ends[1]};
}

OperandStats read_operand(const Json& json, const std::string& where,
                          std::span<const std::string> observers) {
  JsonFields fields(json, where);
  OperandStats stats;
  stats.layer = fields.text("layer");
  if (stats.layer.empty()) fields.refuse("layer", "a layer's name");
  stats.operand = fields.text("operand");
  if (std::ranges::find(kOperands, stats.operand) == kOperands.end()) {
    fields.refuse("operand", fmt::format("one of {}", fmt::join(kOperands, ", ")));
  }
  const std::string named = fmt::format("{} ('{}', {})", where, stats.layer, stats.operand);
  for (const std::string& observer : observers) {
    for (const std::string& name : range_names(observer)) {
      stats.ranges.emplace(name, read_range(fields, name, named));
    }
  }
  if (fields.has("channel_max")) {
    stats.channel_max = read_numbers(fields, "channel_max", kMaxChannels, 0);
  }
  if (fields.has("channel_mean")) {
    stats.channel_mean = read_numbers(fields, "channel_mean", kMaxChannels, -kLargestMagnitude);
  }
  fields.finish();
  return stats;
}

}  // namespace

std::string to_text(const Calibration& calibration) {
  const CalibrationSource& source = calibration.source;
  std::vector<std::string> observers;
  for (const std::string& observer : source.observers) observers.push_back(quoted(observer));
  std::string text = fmt::format(
      "{{\n\"format\": \"{}\",\n\"version\": {},\n\"architecture\": {},\n\"graph\": {},\n"
      "\"observers\": [{}],\n\"images\": {},\n\"stride\": {},\n\"offset\": {},\n\"limit\": {},\n"
      "\"operands\": [",
      kFormat, kVersion, quoted(calibration.architecture), quoted(calibration.graph),
      fmt::join(observers, ", "), source.images, source.stride, source.offset, source.limit);
  const char* separator = "\n";
  for (const OperandStats& stats : calibration.operands) {
    text += separator + line_of(stats);
    separator = ",\n";
  }
  return text + "\n]\n}\n";
}

Calibration parse_calibration(std::string_view text, std::string_view what) {
  const Json json = parse_json(text, what);
  if (!is_calibration(json)) {
    fail(
        ErrorKind::bad_input,
        "{}: is not a calibration: found {}, expected 'format' \"{}\"; 'assay calibrate' makes one",
        what, found_instead(json), kFormat);
  }
  JsonFields fields(json, std::string(what));
  check_head(fields, what);
  Calibration calibration;
  calibration.architecture = fields.text("architecture");
  calibration.graph = fields.text("graph");
  calibration.source = read_source(fields, what);
  std::set<std::pair<std::string, std::string>> seen;
  for (const Json& entry : fields.array("operands", kMaxOperands)) {
    OperandStats stats =
        read_operand(entry, fmt::format("{}: operand {}", what, calibration.operands.size()),
                     calibration.source.observers);
    if (!seen.emplace(stats.layer, stats.operand).second) {
      fail(ErrorKind::corrupt, "{}: the {} of layer '{}' appears twice", what, stats.operand,
           stats.layer);
    }
    calibration.operands.push_back(std::move(stats));
  }
  fields.finish();
  return calibration;
}

void write_calibration(const Calibration& calibration, const std::filesystem::path& path) {
  write_file(path, to_text(calibration));
}

Calibration read_calibration(const std::filesystem::path& path) {
  return parse_calibration(read_text(path, kMaxFileBytes), path.string());
}

}  // namespace assay::quant
