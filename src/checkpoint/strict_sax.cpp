#include "checkpoint/strict_sax.h"

#include "base/error.h"

namespace assay::checkpoint {

void StrictSax::read(std::string_view json, std::string_view what) {
  what_ = what;
  // The lexer takes a NUL for the end of the text and would leave what follows it unread.
  if (const std::size_t nul = json.find('\0'); nul != std::string_view::npos) {
    fail(ErrorKind::bad_input, "{} is not JSON: a NUL byte at byte {}", what_, nul);
  }
  nlohmann::json::sax_parse(json.begin(), json.end(), this);
}

bool StrictSax::parse_error(std::size_t position, const std::string&,
                            const nlohmann::detail::exception& error) {
  const std::string_view reason = error.what();
  const bool encoding = reason.find("UTF-8") != std::string_view::npos;
  fail(ErrorKind::bad_input, "{} is not JSON{}: it goes wrong at byte {}", what_,
       encoding ? " in UTF-8" : "", position == 0 ? 0 : position - 1);
}

}  // namespace assay::checkpoint
