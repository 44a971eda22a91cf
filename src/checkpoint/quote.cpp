#include "checkpoint/quote.h"

#include <fmt/format.h>

#include <cstddef>

namespace assay::checkpoint {
namespace {

constexpr std::size_t kLongest = 120;

/// Bytes of the UTF-8 character that starts at `text`, or 0 where none does (Unicode, table 3-7,
/// without its finer limits: a message needs no more).
std::size_t utf8_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return length;
}

}  // namespace

std::string quote(std::string_view name) {
  std::string quoted = "'";
  while (!name.empty()) {
    if (quoted.size() > kLongest) {
      return quoted + "...'";
    }
    const auto byte = static_cast<unsigned char>(name[0]);
    std::size_t length = 1;
    if (byte >= 0x20 && byte < 0x7F) {
      quoted += name[0];
    } else if (length = utf8_length(name); length > 0) {
      quoted += name.substr(0, length);
    } else {
      length = 1;
      quoted += fmt::format("\\x{:02x}", byte);
    }
    name.remove_prefix(length);
  }
  return quoted + "'";
}

}  // namespace assay::checkpoint
