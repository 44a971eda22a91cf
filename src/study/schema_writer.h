#pragma once
/// Writing structs as JSON objects, field by field, in the order in which they are described.
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/statistics.h"

namespace assay::study {

class SchemaWriter {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    json_[name] = written(value);
  }

  /// Empty text and empty lists are written as null, as nothing is.
  template <typename T>
  void optional(const char* name, const T& value) {
    json_[name] = is_nothing(value) ? Json() : written(value);
  }

  void require(bool holds, const char* name, const char* wanted) const {
    if (!holds) fail(ErrorKind::internal, "a study's field '{}' needs to be {}", name, wanted);
  }

  Json take() { return std::move(json_); }

 private:
  template <typename T>
  static bool is_nothing(const std::optional<T>& value) {
    return !value.has_value();
  }
  template <typename T>
  static bool is_nothing(const T& value) {
    return value.empty();
  }

  static Json written(const std::string& value) { return value; }
  static Json written(bool value) { return value; }
  static Json written(std::uint64_t value) { return value; }
  static Json written(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
  }
  static Json written(const Interval& value) {
    return Json::array({written(value.low), written(value.high)});
  }
  template <typename T>
  static Json written(const std::optional<T>& value) {
    return value ? written(*value) : Json();
  }
  template <typename T>
  static Json written(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(written(value));
    return array;
  }
  template <typename T>
  static Json written(const std::map<std::string, T>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) object[key] = written(value);
    return object;
  }
  /// Any struct that schema_fields.h describes.
  template <typename T>
  static Json written(const T& value) {
    SchemaWriter fields;
    visit(fields, value);
    return fields.take();
  }

  Json json_ = Json::object();
};

}  // namespace assay::study
