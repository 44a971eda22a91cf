#include "quant/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "graph/json_fields.h"

namespace assay::quant {
namespace {

using graph::JsonFields;

constexpr const char* kFormat = "assay calibration";
constexpr std::int64_t kVersion = 1;
/// A layer's line has some 80 bytes; the largest networks have hundreds of layers.
constexpr std::uint64_t kMaxFileBytes = 16 << 20;
constexpr std::size_t kMaxLayers = std::size_t{1} << 17;
constexpr int kMaxDepth = 4;
constexpr std::int64_t kMany = std::int64_t{1} << 62;
constexpr std::array<std::string_view, 1> kObservers{"max"};

/// Nine digits tell any two fp32 numbers apart.
std::string digits(float number) { return fmt::format("{:.9g}", number); }

std::uint64_t count(JsonFields& fields, const char* name, std::int64_t least) {
  return static_cast<std::uint64_t>(fields.integer(name, least, kMany));
}

void check_head(JsonFields& fields, std::string_view what) {
  if (fields.text("format") != kFormat) {
    fail(ErrorKind::bad_input, "{}: is not a calibration; 'assay calibrate' makes one", what);
  }
  const std::int64_t version = fields.integer("version", 1, kMany);
  if (version != kVersion) {
    fail(ErrorKind::unsupported, "{}: calibration version {}, this build of Assay knows {}", what,
         version, kVersion);
  }
}

CalibrationSource read_source(JsonFields& fields, std::string_view what) {
  CalibrationSource source;
  source.observer = fields.text("observer");
  source.images = count(fields, "images", 1);
  source.stride = count(fields, "stride", 1);
  source.offset = count(fields, "offset", 0);
  source.limit = count(fields, "limit", 0);
  if (std::ranges::find(kObservers, source.observer) == kObservers.end()) {
    fail(ErrorKind::unsupported, "{}: observer '{:.40}', this build of Assay knows {}", what,
         source.observer, fmt::join(kObservers, ", "));
  }
  if (const std::string problem = problem_of(source); !problem.empty()) {
    fail(ErrorKind::corrupt, "{}: {}", what, problem);
  }
  return source;
}

/// JSON's numbers are decimal and a person may have written them: the nearest fp32 is meant.
float nearest_single(JsonFields& fields, const char* name) {
  const double number = fields.number(name);
  // Halfway from the largest fp32 to what would be the next; nine digits may lie between the two.
  constexpr double kBeyond = 0x1.ffffffp127;
  if (!(std::abs(number) < kBeyond)) fields.refuse(name, "a finite fp32");
  return static_cast<float>(number);
}

LayerRange read_layer(const Json& json, std::size_t index, std::string_view what) {
  JsonFields fields(json, fmt::format("{}: layer {}", what, index));
  LayerRange layer;
  layer.layer = fields.text("layer");
  layer.input = {nearest_single(fields, "min"), nearest_single(fields, "max")};
  if (layer.layer.empty()) fields.refuse("layer", "a layer's name");
  if (layer.input.low > layer.input.high) {
    fail(ErrorKind::corrupt, "{}: layer {} ('{}'): its min {} is above its max {}", what, index,
         layer.layer, layer.input.low, layer.input.high);
  }
  fields.finish();
  return layer;
}

}  // namespace

std::vector<std::string_view> observers() { return {kObservers.begin(), kObservers.end()}; }

std::string problem_of(const CalibrationSource& source) {
  if (std::ranges::find(kObservers, source.observer) == kObservers.end()) {
    return fmt::format("there is no observer '{:.40}'", source.observer);
  }
  if (source.images == 0 || source.stride == 0) return "images and stride need to be 1 or more";
  if (source.limit != 0 && source.images > source.limit) {
    return fmt::format("{} images are more than its limit of {}", source.images, source.limit);
  }
  return "";
}

std::string to_text(const Calibration& calibration) {
  const auto quoted = [](const std::string& text) {
    try {
      return Json(text).dump();
    } catch (const Json::exception&) {
      fail(ErrorKind::bad_input, "a calibration's name is not UTF-8");
    }
  };
  const CalibrationSource& source = calibration.source;
  std::string text = fmt::format(
      "{{\n\"format\": \"{}\",\n\"version\": {},\n\"architecture\": {},\n\"graph\": {},\n"
      "\"observer\": {},\n\"images\": {},\n\"stride\": {},\n\"offset\": {},\n\"limit\": {},\n"
      "\"layers\": [",
      kFormat, kVersion, quoted(calibration.architecture), quoted(calibration.graph),
      quoted(source.observer), source.images, source.stride, source.offset, source.limit);
  const char* separator = "\n";
  for (const LayerRange& layer : calibration.layers) {
    text += fmt::format("{}{{\"layer\": {}, \"min\": {}, \"max\": {}}}", separator,
                        quoted(layer.layer), digits(layer.input.low), digits(layer.input.high));
    separator = ",\n";
  }
  return text + "\n]\n}\n";
}

Calibration parse_calibration(std::string_view text, std::string_view what) {
  const Json json = parse_json(text, what, kMaxDepth);
  JsonFields fields(json, std::string(what));
  check_head(fields, what);
  Calibration calibration;
  calibration.architecture = fields.text("architecture");
  calibration.graph = fields.text("graph");
  calibration.source = read_source(fields, what);
  std::unordered_set<std::string> names;
  for (const Json& entry : fields.array("layers", kMaxLayers)) {
    LayerRange layer = read_layer(entry, calibration.layers.size(), what);
    if (!names.insert(layer.layer).second) {
      fail(ErrorKind::corrupt, "{}: layer '{}' appears twice", what, layer.layer);
    }
    calibration.layers.push_back(std::move(layer));
  }
  fields.finish();
  return calibration;
}

void write_calibration(const Calibration& calibration, const std::filesystem::path& path) {
  const std::string text = to_text(calibration);
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

Calibration read_calibration(const std::filesystem::path& path) {
  return parse_calibration(read_text(path, kMaxFileBytes), path.string());
}

}  // namespace assay::quant
