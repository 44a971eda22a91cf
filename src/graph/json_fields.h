#pragma once
/// Reading a JSON object that nobody vouches for, field by field: a field that is missing, of
/// another type, out of range or unknown is a corrupt file, and the message says where.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::graph {

class JsonFields {
 public:
  /// Keeps references to `json`; `where` names the object in messages.
  JsonFields(const Json& json, std::string where);

  [[nodiscard]] bool has(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
  double number(std::string_view name);
  /// A number that is an fp32 exactly, as it is where an fp32 was written.
  float single(std::string_view name);
  /// An array of at most `most` of them.
  std::vector<float> singles(std::string_view name, std::size_t most);
  std::string text(std::string_view name);
  /// An array of at most `most` entries.
  const Json& array(std::string_view name, std::size_t most);
  std::vector<std::int64_t> integers(std::string_view name, std::size_t most, std::int64_t smallest,
                                     std::int64_t largest);
  /// The same, where null may stand for a number.
  std::vector<std::optional<std::int64_t>> integers_or_null(std::string_view name, std::size_t most,
                                                            std::int64_t smallest,
                                                            std::int64_t largest);
  /// Throws corrupt where the object has a field that was not read.
  void finish() const;

  [[noreturn]] void refuse(std::string_view name, std::string_view wanted) const;

 private:
  const Json& field(std::string_view name);

  const Json& json_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace assay::graph
