#pragma once
/// A configuration's model_args: the overrides of a family's table. A family takes those that it
/// knows; whatever is left is refused by name, because ignoring one would change the network.
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace assay::families {

class ModelArgs {
 public:
  /// Keeps a reference to `config`.
  explicit ModelArgs(const checkpoint::ModelConfig& config) : config_(config) {}

  /// The argument, or `fallback` where it is not given (or null). Throw bad_input for a value of
  /// another type or out of range.
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  bool boolean(std::string_view name, bool fallback);

  /// Takes arguments that change training alone, such as dropout rates.
  void ignore(std::initializer_list<std::string_view> names);
  /// Takes an argument that may only be what the family does anyway, as one of these JSON texts.
  /// Throws unsupported otherwise.
  void only(std::string_view name, const std::vector<std::string>& allowed);
  /// Throws unsupported naming every argument that nobody took.
  void finish() const;

 private:
  const std::string* take(std::string_view name);

  const checkpoint::ModelConfig& config_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace assay::families
