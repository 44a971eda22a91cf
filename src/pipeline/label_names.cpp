#include "pipeline/label_names.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace assay::pipeline {
namespace {

constexpr int kAmbiguous = -1;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string normalized(std::string_view name) {
  std::string result;
  bool gap = false;
  for (const char c : name) {
    const bool keep = is_letter(c) || (c >= '0' && c <= '9') || static_cast<signed char>(c) < 0;
    if (keep && gap && !result.empty()) result += ' ';
    if (keep) result += is_letter(c) ? static_cast<char>(c | 0x20) : c;
    gap = !keep;
  }
  return result;
}

void insert(std::unordered_map<std::string, int>& indices, const std::string& name, int index) {
  const auto [entry, added] = indices.emplace(name, index);
  if (!added || name.empty()) entry->second = kAmbiguous;
}

std::optional<int> unambiguous(int index) {
  return index == kAmbiguous ? std::nullopt : std::optional(index);
}

}  // namespace

LabelNames::LabelNames(std::span<const std::string> labels)
    : size_(static_cast<int>(labels.size())) {
  for (int i = 0; i < size_; ++i) {
    const std::string& label = labels[static_cast<std::size_t>(i)];
    insert(exact_, label, i);
    insert(normalized_, normalized(label), i);
  }
}

std::optional<int> LabelNames::find(std::string_view name) const {
  if (const auto found = exact_.find(std::string(name)); found != exact_.end())
    return unambiguous(found->second);
  const auto found = normalized_.find(normalized(name));
  return found == normalized_.end() ? std::nullopt : unambiguous(found->second);
}

int LabelNames::check(std::int64_t index, std::string_view where) const {
  if (index < 0 || index >= size_)
    fail(ErrorKind::bad_input, "{}: label {}, but the classifier has the classes 0 ... {}", where,
         index, size_ - 1);
  return static_cast<int>(index);
}

int LabelNames::parse(std::string_view text, std::string_view where) const {
  if (const auto index = find(text)) return *index;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    fail(ErrorKind::bad_input,
         "{}: label \"{:.60}\" is neither one of the classifier's labels nor a whole number", where,
         text);
  return check(number, where);
}

int LabelNames::parse_json(const Json& label, std::string_view where) const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (label.is_number_unsigned() && label.get<std::uint64_t>() > kMost)
    fail(ErrorKind::bad_input, "{}: label {}, but the classifier has the classes 0 ... {}", where,
         label.get<std::uint64_t>(), size_ - 1);
  if (label.is_number_integer()) return check(label.get<std::int64_t>(), where);
  if (label.is_string()) return parse(std::string_view(label.get_ref<const std::string&>()), where);
  fail(ErrorKind::bad_input, "{}: \"label\" is {}, expected a whole number or a name", where,
       label.type_name());
}

}  // namespace assay::pipeline
