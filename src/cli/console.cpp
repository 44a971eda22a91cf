#include "cli/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

namespace assay::cli {
namespace {

/// Text that is not UTF-8 (a file name may be anything) is shown with replacement characters.
std::string dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool is_control(unsigned char byte) { return (byte < 0x20 && byte != '\t') || byte == 0x7f; }

/// U+0080 … U+009F, which some terminals obey, in UTF-8.
bool is_c1_control(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || static_cast<unsigned char>(text[at]) != 0xc2) return false;
  const auto next = static_cast<unsigned char>(text[at + 1]);
  return next >= 0x80 && next <= 0x9f;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (is_control(byte)) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (is_c1_control(text, i)) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[++i]));
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string one_line(std::string_view text) {
  std::string result;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    if (!part.empty()) {
      if (!result.empty()) result += result.back() == ':' || result.back() == ';' ? " " : "; ";
      result += part;
    }
    begin = end + 1;
  }
  return printable(result);
}

Json json_number(float number) {
  if (!std::isfinite(number)) return {};
  return Json::parse(fmt::format("{}", number));
}

Json error_json(std::string_view kind, std::string_view message) {
  return {{"error", {{"kind", kind}, {"message", message}}}};
}

void Console::write(std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), out_) == text.size();
  if (written && std::fflush(out_) == 0) return;
  if (errno == EPIPE) throw OutputClosed();
  throw OutputFailed(
      fmt::format("standard output can't be written: {}", std::generic_category().message(errno)));
}

void Console::line(std::string_view text) { write(printable(text) + "\n"); }

void Console::text(std::string_view text) { write(text); }

void Console::json_answer(const Json& value) { write(dump(value, 2)); }

void Console::json_line(const Json& value) { write(dump(value, -1)); }

void Console::complain(std::string_view message) noexcept {
  try {
    const std::string text = fmt::format("assay: error: {}\n", one_line(message));
    std::fwrite(text.data(), 1, text.size(), err_);
  } catch (...) {
    std::fputs("assay: error: out of memory\n", err_);
  }
  std::fflush(err_);
}

void Console::error(std::string_view kind, std::string_view message) noexcept {
  complain(message);
  if (!json_) return;
  try {
    json_line(error_json(kind, message));
  } catch (...) {
    // Standard output is gone or memory is short; the complaint on standard error stands.
    return;
  }
}

}  // namespace assay::cli
