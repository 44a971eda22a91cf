#include "graph/json_fields.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"

namespace assay::graph {
namespace {

/// The number, if it is whole and within the range; nlohmann's own conversions wrap around.
std::optional<std::int64_t> whole(const Json& json, std::int64_t least, std::int64_t most) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  const auto number = json.get<std::int64_t>();
  if (number < least || number > most) return std::nullopt;
  return number;
}

/// The number, if an fp32 holds it exactly.
std::optional<float> exactly_fp32(double wide) {
  if (!(std::abs(wide) <= std::numeric_limits<float>::max())) return std::nullopt;
  const auto narrow = static_cast<float>(wide);
  if (static_cast<double>(narrow) != wide) return std::nullopt;
  return narrow;
}

}  // namespace

JsonFields::JsonFields(const Json& json, std::string where)
    : json_(json), where_(std::move(where)) {
  if (!json.is_object()) fail(ErrorKind::corrupt, "{} is not an object", where_);
}

void JsonFields::refuse(std::string_view name, std::string_view wanted) const {
  fail(ErrorKind::corrupt, "{}: '{}' needs to be {}", where_, name, wanted);
}

bool JsonFields::has(std::string_view name) const { return json_.contains(name); }

const Json& JsonFields::field(std::string_view name) {
  const auto found = json_.find(name);
  if (found == json_.end()) fail(ErrorKind::corrupt, "{} has no '{}'", where_, name);
  read_.emplace(name);
  return *found;
}

std::int64_t JsonFields::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const auto number = whole(field(name), least, most);
  if (!number) refuse(name, fmt::format("a whole number of {} to {}", least, most));
  return *number;
}

double JsonFields::number(std::string_view name) {
  const Json& json = field(name);
  if (!json.is_number()) refuse(name, "a number");
  return json.get<double>();
}

float JsonFields::single(std::string_view name) {
  const std::optional<float> narrow = exactly_fp32(number(name));
  if (!narrow) refuse(name, "a number of fp32");
  return *narrow;
}

std::vector<float> JsonFields::singles(std::string_view name, std::size_t most) {
  std::vector<float> numbers;
  for (const Json& entry : array(name, most)) {
    const auto narrow = entry.is_number() ? exactly_fp32(entry.get<double>()) : std::nullopt;
    if (!narrow) refuse(name, "numbers of fp32");
    numbers.push_back(*narrow);
  }
  return numbers;
}

std::string JsonFields::text(std::string_view name) {
  const Json& json = field(name);
  if (!json.is_string()) refuse(name, "a string");
  return json.get<std::string>();
}

const Json& JsonFields::array(std::string_view name, std::size_t most) {
  const Json& json = field(name);
  if (!json.is_array() || json.size() > most) {
    refuse(name, fmt::format("an array of at most {} entries", most));
  }
  return json;
}

std::vector<std::optional<std::int64_t>> JsonFields::integers_or_null(std::string_view name,
                                                                      std::size_t most,
                                                                      std::int64_t smallest,
                                                                      std::int64_t largest) {
  std::vector<std::optional<std::int64_t>> numbers;
  for (const Json& entry : array(name, most)) {
    numbers.push_back(whole(entry, smallest, largest));
    if (!numbers.back() && !entry.is_null()) {
      refuse(name, fmt::format("whole numbers of {} to {}, or null", smallest, largest));
    }
  }
  return numbers;
}

std::vector<std::int64_t> JsonFields::integers(std::string_view name, std::size_t most,
                                               std::int64_t smallest, std::int64_t largest) {
  std::vector<std::int64_t> numbers;
  for (const auto& number : integers_or_null(name, most, smallest, largest)) {
    if (!number) refuse(name, fmt::format("whole numbers of {} to {}", smallest, largest));
    numbers.push_back(*number);
  }
  return numbers;
}

void JsonFields::finish() const {
  for (const auto& [name, value] : json_.items()) {
    if (!read_.contains(name)) fail(ErrorKind::corrupt, "{}: '{}' is not known", where_, name);
  }
}

}  // namespace assay::graph
