#include "base/toml.h"

#include <cmath>
#include <set>
#include <sstream>

#include "base/error.h"

// The header alone, whatever the system's package says of its shared library.
#undef TOML_SHARED_LIB
#undef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 1
namespace {
/// The parser takes for granted what hostile text can break: "[a.]]" and the like end in an
/// assertion, or, with NDEBUG, in what the compiler was told can't be.
struct BrokenAssumption {};
constexpr void assume(bool holds) {
  if (!holds) throw BrokenAssumption();
}
}  // namespace
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) ::assume(static_cast<bool>(expression))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace assay {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxShown = 60;

std::string shown(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array_of_tables()) return "an array of tables";
  std::ostringstream stream;
  node.visit([&](const auto& value) { stream << value; });
  std::string text = stream.str();
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

}  // namespace

struct TomlTable::State {
  std::shared_ptr<const toml::table> document;
  const toml::table* table = nullptr;
  std::string what;  ///< the document's name
  std::string path;  ///< the table's name in messages, with a dot behind; empty for the root
  std::set<std::string, std::less<>> read{};
  std::set<std::string, std::less<>> known{};  ///< those that were asked for, there or not

  const toml::node* find(std::string_view key) {
    read.emplace(key);
    known.emplace(key);
    return table->get(key);
  }
};

namespace {

/// A name with a zero byte would end there for the system, and so would a message.
bool has_zero_byte(const std::string& text) { return text.find('\0') != std::string::npos; }

const toml::node& existing(const TomlTable& table, const toml::node* node, std::string_view key,
                           std::string_view expected) {
  if (node == nullptr) table.refuse(key, expected);
  return *node;
}

}  // namespace

TomlTable TomlTable::parse(std::string_view text, std::string what) {
  if (text.size() > kMaxBytes) {
    fail(ErrorKind::bad_input, "{}: {} bytes of TOML, the limit is {}", what, text.size(),
         kMaxBytes);
  }
  auto state = std::make_shared<State>();
  state->what = std::move(what);
  try {
    state->document = std::make_shared<const toml::table>(toml::parse(text));
  } catch (const toml::parse_error& error) {
    fail(ErrorKind::bad_input, "{}:{}: not TOML: {}", state->what, error.source().begin.line,
         error.description());
  } catch (const BrokenAssumption&) {
    fail(ErrorKind::bad_input, "{}: not TOML: a bracket or a dot stands where a key should",
         state->what);
  }
  state->table = state->document.get();
  return TomlTable(std::move(state));
}

bool TomlTable::has(std::string_view key) const {
  state_->known.emplace(key);
  return state_->table->contains(key);
}

std::uint32_t TomlTable::line(std::string_view key) const {
  const toml::node* const node = key.empty() ? nullptr : state_->table->get(key);
  const toml::source_region& region = node == nullptr ? state_->table->source() : node->source();
  return std::max<std::uint32_t>(region.begin.line, 1);
}

void TomlTable::complain(std::string_view key, std::string_view message) const {
  fail(ErrorKind::bad_input, "{}:{}: {}", state_->what, line(key), message);
}

void TomlTable::refuse(std::string_view key, std::string_view expected) const {
  const toml::node* const node = state_->table->get(key);
  if (node == nullptr) {
    complain(key, fmt::format("{}{} is missing, expected {}", state_->path, key, expected));
  }
  complain(key, fmt::format("{}{} is {}, expected {}", state_->path, key, shown(*node), expected));
}

std::string TomlTable::text(std::string_view key) const {
  constexpr std::string_view kExpected = "a string";
  const auto value = existing(*this, state_->find(key), key, kExpected).value_exact<std::string>();
  if (!value) refuse(key, kExpected);
  if (has_zero_byte(*value)) complain(key, fmt::format("{}{} has \\u0000", state_->path, key));
  return *value;
}

bool TomlTable::boolean(std::string_view key) const {
  constexpr std::string_view kExpected = "true or false";
  const auto value = existing(*this, state_->find(key), key, kExpected).value_exact<bool>();
  if (!value) refuse(key, kExpected);
  return *value;
}

double TomlTable::number(std::string_view key, double low, double high) const {
  const std::string expected = fmt::format("a number in {} ... {}", low, high);
  const toml::node& node = existing(*this, state_->find(key), key, expected);
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || !(*value >= low && *value <= high)) refuse(key, expected);
  return *value;
}

std::int64_t TomlTable::integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  const std::string expected = fmt::format("a whole number in {} ... {}", low, high);
  const auto value = existing(*this, state_->find(key), key, expected).value_exact<std::int64_t>();
  if (!value || *value < low || *value > high) refuse(key, expected);
  return *value;
}

std::vector<std::string> TomlTable::texts(std::string_view key) const {
  constexpr std::string_view kExpected = "a list of strings";
  const toml::array* const array = existing(*this, state_->find(key), key, kExpected).as_array();
  if (array == nullptr) refuse(key, kExpected);
  std::vector<std::string> texts;
  for (const toml::node& node : *array) {
    const auto value = node.value_exact<std::string>();
    if (!value) refuse(key, kExpected);
    if (has_zero_byte(*value)) complain(key, fmt::format("{}{} has \\u0000", state_->path, key));
    texts.push_back(*value);
  }
  return texts;
}

std::vector<std::int64_t> TomlTable::integers(std::string_view key, std::int64_t low,
                                              std::int64_t high) const {
  const std::string expected = fmt::format("a list of whole numbers in {} ... {}", low, high);
  const toml::array* const array = existing(*this, state_->find(key), key, expected).as_array();
  if (array == nullptr) refuse(key, expected);
  std::vector<std::int64_t> numbers;
  for (const toml::node& node : *array) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < low || *value > high) refuse(key, expected);
    numbers.push_back(*value);
  }
  return numbers;
}

TomlTable TomlTable::table(std::string_view key) const {
  constexpr std::string_view kExpected = "a table";
  const toml::table* const inner = existing(*this, state_->find(key), key, kExpected).as_table();
  if (inner == nullptr) refuse(key, kExpected);
  return TomlTable(std::make_shared<State>(
      State{state_->document, inner, state_->what, fmt::format("{}{}.", state_->path, key)}));
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) const {
  std::vector<TomlTable> tables;
  const toml::node* const node = state_->find(key);
  if (node == nullptr) return tables;
  const std::string expected = fmt::format("tables, each under [[{}{}]]", state_->path, key);
  if (!node->is_array()) refuse(key, expected);
  for (const toml::node& entry : *node->as_array()) {
    if (!entry.is_table()) refuse(key, expected);
    tables.push_back(TomlTable(std::make_shared<State>(
        State{state_->document, entry.as_table(), state_->what,
              fmt::format("{}{}[{}].", state_->path, key, tables.size())})));
  }
  return tables;
}

void TomlTable::finish() const {
  for (const auto& [key, node] : *state_->table) {
    if (state_->read.contains(key.str())) continue;
    fail(ErrorKind::bad_input, "{}:{}: {}{} is not a key; known are: {}", state_->what,
         std::max<std::uint32_t>(key.source().begin.line, 1), state_->path, key.str(),
         fmt::join(state_->known, ", "));
  }
}

std::string toml_quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (code < 0x20 || code == 0x7F) {
      quoted += fmt::format("\\u{:04X}", code);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace assay
