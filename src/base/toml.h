#pragma once
/// TOML that people write by hand: strict, and every complaint names file, line and key.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// One table of a TOML document, read key by key. Every getter throws bad_input where the key is
/// absent or not what it should be, such as "fp8.toml:7: rule.ratio is "much", expected a number
/// above 0". A cheap value that keeps the document alive. Not thread-safe: it notes what was read.
class TomlTable {
 public:
  /// The document's root. `what` names it in messages. Throws bad_input with the line for text that
  /// is not TOML 1.0 (duplicate keys included), and for more than a megabyte of it.
  static TomlTable parse(std::string_view text, std::string what);

  [[nodiscard]] bool has(std::string_view key) const;
  /// Without zero bytes, as texts() are.
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  /// Whole or not; finite, in [low, high].
  [[nodiscard]] double number(std::string_view key, double low, double high) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t low,
                                     std::int64_t high) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key, std::int64_t low,
                                                   std::int64_t high) const;
  [[nodiscard]] TomlTable table(std::string_view key) const;
  /// [[key]], or an array of inline tables; none where the key is absent.
  [[nodiscard]] std::vector<TomlTable> tables(std::string_view key) const;

  /// The line of the key, or of the table where there is no such key; from 1.
  [[nodiscard]] std::uint32_t line(std::string_view key = {}) const;
  /// Throws bad_input: "FILE:LINE: KEY is FOUND, expected EXPECTED".
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) const;
  /// Throws bad_input with FILE:LINE in front of the message.
  [[noreturn]] void complain(std::string_view key, std::string_view message) const;
  /// Throws bad_input where the table has a key that nothing asked for.
  void finish() const;

 private:
  struct State;
  explicit TomlTable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// `text` as a TOML basic string, quotes and escapes included.
std::string toml_quote(std::string_view text);

}  // namespace assay
