#include "checkpoint/config_fields.h"

#include <cmath>
#include <utility>

#include "base/error.h"

namespace assay::checkpoint {
namespace {

/// The value as text, short enough for a message.
std::string shown(const Json& value) {
  constexpr std::size_t kLongest = 80;
  if (value.size() > kLongest) {
    return fmt::format("{} of {}", value.type_name(), value.size());
  }
  std::string text = value.dump();
  if (text.size() > kLongest) {
    return fmt::format("{} of {} characters", value.type_name(), text.size());
  }
  return text;
}

bool in_range(const Json& value, std::int64_t least, std::int64_t greatest) {
  if (!value.is_number_integer()) {
    return false;
  }
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    return false;
  }
  const auto number = value.get<std::int64_t>();
  return number >= least && number <= greatest;
}

}  // namespace

Fields::Fields(const Json& object, std::string_view what, std::string path)
    : object_(object), what_(what), path_(std::move(path)) {
  if (!object.is_object()) {
    fail(ErrorKind::bad_input, "{}: {} is {}, expected an object", what_,
         path_.empty() ? "the document" : path_, shown(object));
  }
}

const Json* Fields::find(std::string_view key) const {
  const auto place = object_.find(std::string(key));
  return place == object_.end() || place->is_null() ? nullptr : &*place;
}

std::string Fields::text(std::string_view key, std::string_view fallback) const {
  const Json* value = find(key);
  if (value != nullptr && !value->is_string()) {
    refuse(key, "a string");
  }
  return value == nullptr ? std::string(fallback) : value->get<std::string>();
}

bool Fields::flag(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  if (value != nullptr && !value->is_boolean()) {
    refuse(key, "true or false");
  }
  return value == nullptr ? fallback : value->get<bool>();
}

double Fields::number(std::string_view key, double fallback) const {
  const Json* value = find(key);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    refuse(key, "a number");
  }
  return value->get<double>();
}

std::vector<double> Fields::numbers(std::string_view key) const {
  const Json* value = find(key);
  std::vector<double> numbers;
  if (value == nullptr) {
    return numbers;
  }
  if (!value->is_array()) {
    refuse(key, "a list of numbers");
  }
  for (const Json& element : *value) {
    if (!element.is_number() || !std::isfinite(element.get<double>())) {
      refuse(key, "a list of numbers");
    }
    numbers.push_back(element.get<double>());
  }
  return numbers;
}

std::int64_t Fields::integer(std::string_view key, std::int64_t fallback, std::int64_t least,
                             std::int64_t greatest) const {
  const Json* value = find(key);
  if (value != nullptr && !in_range(*value, least, greatest)) {
    refuse(key, fmt::format("an integer from {} to {}", least, greatest));
  }
  return value == nullptr ? fallback : value->get<std::int64_t>();
}

std::vector<std::int64_t> Fields::integers(std::string_view key, std::int64_t least,
                                           std::int64_t greatest) const {
  const Json* value = find(key);
  std::vector<std::int64_t> numbers;
  if (value == nullptr) {
    return numbers;
  }
  const std::string expected = fmt::format("a list of integers from {} to {}", least, greatest);
  if (!value->is_array()) {
    refuse(key, expected);
  }
  for (const Json& element : *value) {
    if (!in_range(element, least, greatest)) {
      refuse(key, expected);
    }
    numbers.push_back(element.get<std::int64_t>());
  }
  return numbers;
}

void Fields::refuse(std::string_view key, std::string_view expected) const {
  fail(ErrorKind::bad_input, "{} is {}, expected {}", place(key),
       object_.contains(std::string(key)) ? shown(object_.at(std::string(key))) : "absent",
       expected);
}

std::string Fields::place(std::string_view key) const {
  return fmt::format("{}: {}{}{}", what_, path_, path_.empty() ? "" : ".", key);
}

}  // namespace assay::checkpoint
