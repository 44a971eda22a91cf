#include "study/samples.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace assay::study {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

/// Shortest text that reads back as the same fp32 number; in quotes where JSON has none.
std::string written(float number) {
  return std::isfinite(number) ? fmt::format("{}", number) : fmt::format("\"{}\"", number);
}

float read_number(const Json& json, const std::string& what) {
  const std::string text = json.is_string() ? json.get<std::string>() : json.dump();
  float number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size())
    fail(ErrorKind::bad_input, "{}: {:.40} is no logit", what, text);
  return number;
}

const Json& field(const Json& json, const char* key, const std::string& what) {
  if (!json.is_object() || !json.contains(key))
    fail(ErrorKind::bad_input, "{}: needs \"{}\"", what, key);
  return json[key];
}

ModelSamples read_model(const Json& json, const std::string& what) {
  ModelSamples samples;
  for (const Json& position : field(json, "positions", what)) {
    if (!position.is_number_unsigned())
      fail(ErrorKind::bad_input, "{}: positions are whole numbers", what);
    samples.positions.push_back(position.get<std::uint64_t>());
  }
  const Json& logits = field(json, "logits", what);
  if (!logits.is_object()) fail(ErrorKind::bad_input, "{}: logits need names", what);
  for (const auto& [variant, numbers] : logits.items())
    for (const Json& number : numbers) samples.logits[variant].push_back(read_number(number, what));
  return samples;
}

}  // namespace

void write_samples(const Samples& samples, const std::filesystem::path& path) {
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [model, of] : samples) {
    text += fmt::format("{}\"{}\": {{\n  \"positions\": [{}],\n  \"logits\": {{", separator, model,
                        fmt::join(of.positions, ", "));
    const char* inner = "\n";
    for (const auto& [variant, logits] : of.logits) {
      std::vector<std::string> numbers;
      for (const float logit : logits) numbers.push_back(written(logit));
      text += fmt::format("{}    \"{}\": [{}]", inner, variant, fmt::join(numbers, ", "));
      inner = ",\n";
    }
    text += "\n  }\n}";
    separator = ",\n";
  }
  write_file(path, text + "\n}\n");
}

Samples read_samples(const std::filesystem::path& path) {
  const Json json = parse_json(read_text(path, kMaxBytes), path.string());
  if (!json.is_object())
    fail(ErrorKind::bad_input, "{}: needs a name for each model", path.string());
  Samples samples;
  for (const auto& [model, of] : json.items()) samples[model] = read_model(of, path.string());
  return samples;
}

}  // namespace assay::study
