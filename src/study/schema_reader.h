#pragma once
/// Reading the fields of one JSON object, checked: what is missing, unknown, of another type or out
/// of range is refused with its path.
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/statistics.h"

namespace assay::study {

class SchemaReader {
 public:
  /// Keeps references to both. `path` is the object's, empty for the root.
  SchemaReader(const Json& json, std::string path, std::string_view what)
      : json_(json), path_(std::move(path)), what_(what) {
    if (!json.is_object()) refuse_at(path_.empty() ? "the study" : path_, "an object", json);
  }

  /// A field that must be there.
  template <typename T>
  void operator()(const char* name, T& value) {
    const Json* found = find(name);
    if (found == nullptr) {
      fail(ErrorKind::bad_input, "{}: {}: is missing", what_, path_of(name));
    }
    read(*found, value, path_of(name));
  }

  /// A field that may be absent or null; `value` keeps its default then.
  template <typename T>
  void optional(const char* name, T& value) {
    const Json* found = find(name);
    if (found != nullptr && !found->is_null()) read(*found, value, path_of(name));
  }

  /// What else holds of the field `name`.
  void require(bool holds, const char* name, const char* wanted) const {
    if (!holds) fail(ErrorKind::bad_input, "{}: {}: needs to be {}", what_, path_of(name), wanted);
  }

  /// Refuses fields that were not read.
  void finish() const {
    for (const auto& [key, value] : json_.items()) {
      if (!read_.contains(key)) {
        fail(ErrorKind::bad_input, "{}: {}: is no field of a study", what_, path_of(shown(key)));
      }
    }
  }

 private:
  const Json* find(const char* name) {
    read_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::string path_of(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }

  /// Keys may be of any length.
  static std::string shown(const std::string& key) {
    return key.size() <= 60 ? key : fmt::format("a key of {} bytes", key.size());
  }

  [[noreturn]] void refuse_at(const std::string& path, const char* wanted,
                              const Json& found) const {
    fail(ErrorKind::bad_input, "{}: {}: needs {}, found {}", what_, path, wanted,
         found.type_name());
  }

  void read(const Json& json, std::string& value, const std::string& path) const {
    if (!json.is_string()) refuse_at(path, "a text", json);
    value = json.get<std::string>();
  }

  void read(const Json& json, bool& value, const std::string& path) const {
    if (!json.is_boolean()) refuse_at(path, "true or false", json);
    value = json.get<bool>();
  }

  void read(const Json& json, std::uint64_t& value, const std::string& path) const {
    if (!json.is_number_unsigned()) refuse_at(path, "a whole number, 0 or more", json);
    value = json.get<std::uint64_t>();
  }

  void read(const Json& json, double& value, const std::string& path) const {
    if (json.is_number()) {
      value = json.get<double>();
    } else if (json == "Infinity") {
      value = std::numeric_limits<double>::infinity();
    } else if (json == "-Infinity") {
      value = -std::numeric_limits<double>::infinity();
    } else if (json == "NaN") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      refuse_at(path, "a number", json);
    }
  }

  void read(const Json& json, Interval& value, const std::string& path) const {
    if (!json.is_array() || json.size() != 2) refuse_at(path, "[low, high]", json);
    read(json[0], value.low, path + "[0]");
    read(json[1], value.high, path + "[1]");
    if (value.low > value.high) {
      fail(ErrorKind::bad_input, "{}: {}: its low end {} is above its high end {}", what_, path,
           value.low, value.high);
    }
  }

  template <typename T>
  void read(const Json& json, std::optional<T>& value, const std::string& path) const {
    read(json, value.emplace(), path);
  }

  template <typename T>
  void read(const Json& json, std::vector<T>& values, const std::string& path) const {
    if (!json.is_array()) refuse_at(path, "an array", json);
    values.clear();
    for (const Json& entry : json) {
      const std::string place = fmt::format("{}[{}]", path, values.size());
      read(entry, values.emplace_back(), place);
    }
  }

  template <typename T>
  void read(const Json& json, std::map<std::string, T>& values, const std::string& path) const {
    if (!json.is_object()) refuse_at(path, "an object", json);
    values.clear();
    for (const auto& [key, entry] : json.items()) {
      read(entry, values[key], fmt::format("{}.{}", path, shown(key)));
    }
  }

  /// Any struct that schema_fields.h describes.
  template <typename T>
  void read(const Json& json, T& value, const std::string& path) const {
    SchemaReader fields(json, path, what_);
    visit(fields, value);
    fields.finish();
  }

  const Json& json_;
  std::string path_;
  std::string_view what_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace assay::study
