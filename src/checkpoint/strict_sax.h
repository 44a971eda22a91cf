#pragma once
/// The part that every streaming JSON reader of this room shares: what a reader does not expect is
/// an error, and a document is never built in memory.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace assay::checkpoint {

/// Refuses every event; a reader overrides the ones that its format has, and calls unexpected()
/// where one comes at the wrong place. Nothing recurses, so nesting cannot exhaust the stack.
class StrictSax : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_unsigned(number_unsigned_t) override { return unexpected("a number"); }
  bool number_float(number_float_t, const string_t&) override {
    return unexpected("a number that is no 64-bit integer");
  }
  bool string(string_t&) override { return unexpected("a string"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool start_object(std::size_t) override { return unexpected("an object"); }
  bool end_object() override { return unexpected("the end of an object"); }
  bool start_array(std::size_t) override { return unexpected("an array"); }
  bool end_array() override { return unexpected("the end of an array"); }
  bool key(string_t&) override { return unexpected("a key"); }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override;

  /// Reads `json` to its end. `what` names the text ("model.safetensors: the header"). Throws
  /// bad_input with the byte's position where it is not JSON in UTF-8, and whatever the events
  /// throw.
  void read(std::string_view json, std::string_view what);

 protected:
  /// Throws bad_input: says where the reader is, that it found `found`, and what it expected.
  virtual bool unexpected(std::string_view found) const = 0;
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  std::string what_;
};

}  // namespace assay::checkpoint
