#include "study/schema_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace assay::study {
namespace {

constexpr std::size_t kLineLength = 140;

bool holds_containers(const Json& json) {
  return std::ranges::any_of(json, [](const Json& entry) { return entry.is_structured(); });
}

bool is_list_of_numbers(const Json& json) {
  return json.is_array() && std::ranges::all_of(json, [](const Json& e) { return e.is_number(); });
}

/// `json` without line ends, as a person would space it.
std::string one_line(const Json& json) {
  if (!json.is_structured()) return json.dump();
  std::string text(1, json.is_object() ? '{' : '[');
  const char* separator = "";
  for (const auto& [key, entry] : json.items()) {
    text += separator;
    if (json.is_object()) text += Json(key).dump() + ": ";
    text += one_line(entry);
    separator = ", ";
  }
  return text + (json.is_object() ? '}' : ']');
}

void append(std::string& text, const Json& json, std::size_t indent) {
  if (!json.is_structured() || json.empty() || is_list_of_numbers(json)) {
    text += one_line(json);
    return;
  }
  if (!holds_containers(json) || json.size() <= 2) {
    const std::string line = one_line(json);
    if (line.size() + indent <= kLineLength) {
      text += line;
      return;
    }
  }
  const std::string margin = "\n" + std::string(indent + 1, ' ');
  text += json.is_object() ? '{' : '[';
  const char* separator = "";
  for (const auto& [key, entry] : json.items()) {
    text += separator + margin;
    if (json.is_object()) text += Json(key).dump() + ": ";
    append(text, entry, indent + 1);
    separator = ",";
  }
  text += "\n" + std::string(indent, ' ') + (json.is_object() ? '}' : ']');
}

}  // namespace

std::string schema_text(const Json& json) {
  std::string text;
  append(text, json, 0);
  return text + '\n';
}

}  // namespace assay::study
