#pragma once
/// Labels as datasets write them, to the classifier's indices.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"

namespace assay::pipeline {

/// The classifier's labels, looked up by name: by the exact one, or else by its ASCII letters
/// without case and its digits, each run of other ASCII characters as one gap; so a folder
/// "T-shirt_top" is the label "t-shirt/top". A name that two labels share finds neither.
class LabelNames {
 public:
  explicit LabelNames(std::span<const std::string> labels);
  [[nodiscard]] std::optional<int> find(std::string_view name) const;
  [[nodiscard]] int size() const { return size_; }

  /// A label as text: a name if it is one, else a whole number. Throws bad_input, beginning with
  /// `where`, for anything else and for numbers out of range.
  [[nodiscard]] int parse(std::string_view text, std::string_view where) const;
  /// The same for a JSON value: a whole number is an index, a string is as above.
  [[nodiscard]] int parse_json(const Json& label, std::string_view where) const;
  /// An index, checked. Throws bad_input, beginning with `where`.
  [[nodiscard]] int check(std::int64_t index, std::string_view where) const;

 private:
  std::unordered_map<std::string, int> exact_;
  std::unordered_map<std::string, int> normalized_;
  int size_ = 0;
};

}  // namespace assay::pipeline
