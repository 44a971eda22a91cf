#pragma once
/// Where the program's answers and complaints go.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include "assay/error.h"
#include "base/json.h"

namespace assay::cli {

/// The reader of standard output went away (`assay run ... | head -1`): stop, quietly.
class OutputClosed {};

/// Standard output can't be written for another reason: a full disk (exit 1).
class OutputFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Standard output and standard error as the program uses them. Every line is flushed, so a reader
/// behind a pipe sees an image's answer when it is ready. Not thread-safe.
class Console {
 public:
  Console(std::FILE* out, std::FILE* err, bool json) : out_(out), err_(err), json_(json) {}

  /// Whether the user asked for --json.
  [[nodiscard]] bool json() const { return json_; }

  /// One line of the answer. Control characters (of a file name, a label) are escaped, for names
  /// come from files that nobody vouches for and the reader may be a terminal.
  /// Throws OutputClosed where the reader is gone, OutputFailed where writing fails otherwise.
  void line(std::string_view text);
  /// The same for text of several lines that the program itself wrote (help).
  void text(std::string_view text);
  /// One JSON value, indented: the whole answer of a verb.
  void json_answer(const Json& value);
  /// One JSON value on one line, for verbs that answer item by item.
  void json_line(const Json& value);

  /// "assay: error: MESSAGE" on standard error, always one line. Never throws.
  void complain(std::string_view message) noexcept;
  /// The same, and with --json also {"error": {"kind", "message"}} on standard output. Never
  /// throws.
  void error(std::string_view kind, std::string_view message) noexcept;

 private:
  void write(std::string_view text);
  std::FILE* out_;
  std::FILE* err_;
  bool json_;
};

/// `text` with control characters as \xNN.
std::string printable(std::string_view text);
/// `text` as one line: "a:\n  b\n  c" becomes "a: b; c".
std::string one_line(std::string_view text);
/// `number` with the digits that tell it from its neighbours in fp32 and no more: 0.1, not
/// 0.10000000149011612. Null where it is not finite, which JSON has no word for.
Json json_number(float number);
/// {"error": {"kind", "message"}}.
Json error_json(std::string_view kind, std::string_view message);

}  // namespace assay::cli
