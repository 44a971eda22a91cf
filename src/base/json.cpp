#include "base/json.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

/// Bounds memory: a value takes some 50 bytes however short its text is.
constexpr std::size_t kMaxValues = 4'000'000;

/// Reads the text and remembers how far the parser has come, for messages.
class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  TrackedIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  bool operator==(const TrackedIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TrackedIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

/// Takes the parser's events and builds the value. Objects are appended to, not searched: the
/// duplicate check has its own hash set, so that a header of many keys takes linear time.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(std::string_view text, std::string_view what, int max_depth)
      : text_(text), what_(what), max_depth_(max_depth), furthest_(text.data()) {}

  const char** furthest() { return &furthest_; }
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // no JSON text has one

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    Level& level = levels_.back();
    if (!level.keys.insert(value).second) refuse("has the key \"{}\" twice", shortened(value));
    level.key = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    // The library's prefix, "[json.exception.parse_error.101] ", says nothing to a reader, and what
    // it quotes of the input may be long and of any bytes.
    std::string_view reason = error.what();
    if (const auto end = reason.find("] "); end != std::string_view::npos) {
      reason.remove_prefix(end + 2);
    }
    reason = shortened(reason.substr(0, reason.find("; last read: ")));
    fail(ErrorKind::bad_input, "{}: is not valid JSON at byte {}: {}", what_,
         std::min(position, text_.size()), reason);
  }

 private:
  struct Level {
    Json* container;
    std::unordered_set<std::string> keys;
    std::string key;
  };

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::bad_input, "{}: the JSON {} (at byte {})", what_,
         fmt::format(format, std::forward<Args>(args)...), furthest_ - text_.data());
  }

  /// At most 200 bytes of `text`, cut between characters.
  static std::string_view shortened(std::string_view text) {
    std::size_t size = std::min<std::size_t>(text.size(), 200);
    while (size > 0 && size < text.size() && (text[size] & 0xC0) == 0x80) --size;
    return text.substr(0, size);
  }

  Json* place(Json value) {
    if (++values_ > kMaxValues) refuse("has more than {} values", kMaxValues);
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (auto* array = level.container->get_ptr<Json::array_t*>()) {
      return &array->emplace_back(std::move(value));
    }
    auto& object = level.container->get_ref<Json::object_t&>();
    return &object.emplace_back(std::move(level.key), std::move(value)).second;
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (static_cast<int>(levels_.size()) >= max_depth_) {
      refuse("is nested deeper than {} levels", max_depth_);
    }
    levels_.push_back(Level{place(std::move(container)), {}, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string_view what_;
  int max_depth_;
  const char* furthest_;
  Json root_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view what, int max_depth) {
  // The parser takes a NUL byte for the end of its input and skips a byte order mark.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    fail(ErrorKind::bad_input, "{}: is not valid JSON at byte {}: a NUL byte", what, nul);
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    fail(ErrorKind::bad_input, "{}: is not valid JSON at byte 0: a byte order mark", what);
  }
  StrictBuilder builder(text, what, max_depth);
  const TrackedIterator first(text.data(), builder.furthest());
  const TrackedIterator last(text.data() + text.size(), builder.furthest());
  if (!Json::sax_parse(first, last, &builder)) {
    fail(ErrorKind::internal, "{}: the JSON parser stopped without a reason", what);
  }
  return builder.take();
}

}  // namespace assay
