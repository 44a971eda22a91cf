#include "families/model_args.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace assay::families {
namespace {

Json parse(const std::string& name, const std::string& text) {
  return parse_json(text, fmt::format("model_args.{}", name));
}

[[noreturn]] void refuse(std::string_view name, const std::string& text, std::string_view wanted) {
  fail(ErrorKind::bad_input, "model_args.{} is {}, needs {}", name, text, wanted);
}

}  // namespace

const std::string* ModelArgs::take(std::string_view name) {
  const auto found = config_.model_args.find(std::string(name));
  if (found == config_.model_args.end()) return nullptr;
  taken_.emplace(name);
  return found->second == "null" ? nullptr : &found->second;
}

std::int64_t ModelArgs::integer(std::string_view name, std::int64_t fallback) {
  constexpr std::int64_t kLargest = 1 << 16;
  const std::string* text = take(name);
  if (text == nullptr) return fallback;
  const Json json = parse(std::string(name), *text);
  if (!json.is_number_integer() || json < 1 || json > kLargest) {
    refuse(name, *text, "a whole number of 1 to 65536");
  }
  return json.get<std::int64_t>();
}

bool ModelArgs::boolean(std::string_view name, bool fallback) {
  const std::string* text = take(name);
  if (text == nullptr) return fallback;
  const Json json = parse(std::string(name), *text);
  if (!json.is_boolean()) refuse(name, *text, "true or false");
  return json.get<bool>();
}

void ModelArgs::ignore(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) take(name);
}

void ModelArgs::only(std::string_view name, const std::vector<std::string>& allowed) {
  const std::string* text = take(name);
  if (text == nullptr) return;
  const Json given = parse(std::string(name), *text);
  for (const std::string& json : allowed) {
    if (given == parse(std::string(name), json)) return;
  }
  fail(ErrorKind::unsupported, "model_args.{} is {}; {} supports {} only", name, *text,
       config_.architecture, fmt::join(allowed, " or "));
}

void ModelArgs::finish() const {
  std::vector<std::string> unknown;
  for (const auto& [name, text] : config_.model_args) {
    if (!taken_.contains(name)) unknown.push_back(fmt::format("{} = {}", name, text));
  }
  if (!unknown.empty()) {
    fail(ErrorKind::unsupported, "{} does not support these model_args: {}", config_.architecture,
         fmt::join(unknown, ", "));
  }
}

}  // namespace assay::families
