#pragma once
/// Typed access to config.json's keys: a value of another type than expected is a named error.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::checkpoint {

/// One object of config.json. A key whose value is null counts as absent, as timm has it. Borrowed:
/// the document must outlive it.
class Fields {
 public:
  /// `path` is where the object stands in the file: "" or "pretrained_cfg". Throws bad_input where
  /// `object` is no object.
  Fields(const Json& object, std::string_view what, std::string path);

  /// The value of `key`, or nullptr where it is absent or null.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] const Json& object() const { return object_; }
  /// The file, for messages.
  [[nodiscard]] const std::string& what() const { return what_; }

  /// Each throws bad_input where the key is there with another type or out of range; `fallback` is
  /// for the absent key.
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  [[nodiscard]] double number(std::string_view key, double fallback) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback,
                                     std::int64_t least, std::int64_t greatest) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key, std::int64_t least,
                                                   std::int64_t greatest) const;

  /// Throws bad_input: "config.json: pretrained_cfg.mean is ..., expected ...".
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) const;
  /// "config.json: pretrained_cfg.mean", for messages.
  [[nodiscard]] std::string place(std::string_view key) const;

 private:
  const Json& object_;
  std::string what_;
  std::string path_;
};

}  // namespace assay::checkpoint
