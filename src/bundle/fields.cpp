#include "bundle/fields.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace assay::bundle {

Fields::Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
  if (!json.is_object())
    fail(ErrorKind::corrupt, "{} is {}, expected an object", path_, json.type_name());
}

std::string Fields::name_of(std::string_view key) const { return fmt::format("{}.{}", path_, key); }

bool Fields::has(const std::string& key) const { return json_.contains(key); }

const Json& Fields::any(const std::string& key) {
  const auto found = json_.find(key);
  if (found == json_.end()) fail(ErrorKind::corrupt, "{} is missing", name_of(key));
  read_.insert(key);
  return *found;
}

const Json& Fields::array(const std::string& key) {
  const Json& value = any(key);
  if (!value.is_array())
    fail(ErrorKind::corrupt, "{} is {}, expected an array", name_of(key), value.type_name());
  return value;
}

Fields Fields::object(const std::string& key) { return {any(key), name_of(key)}; }

std::string Fields::text(const std::string& key) {
  const Json& value = any(key);
  if (!value.is_string())
    fail(ErrorKind::corrupt, "{} is {}, expected a string", name_of(key), value.type_name());
  return value.get<std::string>();
}

std::uint64_t Fields::integer(const std::string& key, std::uint64_t low, std::uint64_t high) {
  const Json& value = any(key);
  // nlohmann keeps every non-negative whole number as unsigned; 1.0 and -1 are other types.
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < low ||
      value.get<std::uint64_t>() > high)
    fail(ErrorKind::corrupt, "{} is {:.40}, expected a whole number in {} ... {}", name_of(key),
         value.is_structured() ? value.type_name() : value.dump(), low, high);
  return value.get<std::uint64_t>();
}

double Fields::number(const std::string& key) {
  const Json& value = any(key);
  if (!value.is_number())
    fail(ErrorKind::corrupt, "{} is {}, expected a number", name_of(key), value.type_name());
  return value.get<double>();
}

std::array<double, 3> Fields::triple(const std::string& key) {
  const Json& values = array(key);
  std::array<double, 3> triple{};
  if (values.size() != triple.size())
    fail(ErrorKind::corrupt, "{} has {} numbers, expected 3", name_of(key), values.size());
  for (std::size_t i = 0; i < triple.size(); ++i) {
    if (!values[i].is_number())
      fail(ErrorKind::corrupt, "{} holds {}, expected numbers", name_of(key),
           values[i].type_name());
    triple[i] = values[i].get<double>();
  }
  return triple;
}

void Fields::finish() const {
  for (const auto& item : json_.items())
    if (!read_.contains(item.key()))
      fail(ErrorKind::corrupt, "{} is not a field of this format version", name_of(item.key()));
}

}  // namespace assay::bundle
