#pragma once
/// Reading a JSON object that nobody vouches for: every field is there, has its type and range, and
/// no other field is.
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"

namespace assay::bundle {

/// One object of the header. Every getter throws corrupt, naming the field, where it is absent or
/// not what it should be. `json` must outlive it.
class Fields {
 public:
  /// `path` is the object's name in messages: "header.model".
  Fields(const Json& json, std::string path);

  /// Whether the field, which may be left out, is there.
  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] const Json& any(const std::string& key);
  [[nodiscard]] const Json& array(const std::string& key);
  [[nodiscard]] Fields object(const std::string& key);
  [[nodiscard]] std::string text(const std::string& key);
  [[nodiscard]] std::uint64_t integer(const std::string& key, std::uint64_t low,
                                      std::uint64_t high);
  [[nodiscard]] double number(const std::string& key);
  [[nodiscard]] std::array<double, 3> triple(const std::string& key);
  /// Throws corrupt where the object has a field that no getter asked for.
  void finish() const;
  [[nodiscard]] std::string name_of(std::string_view key) const;

 private:
  const Json& json_;
  std::string path_;
  std::set<std::string> read_;
};

}  // namespace assay::bundle
