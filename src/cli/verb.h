#pragma once
/// How a verb says which words it takes. A thin layer over CLI11 that keeps its templates out of
/// the verbs' own files, and the conventions of all verbs in one place.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli.h"

namespace assay::cli {

/// What a number may be; anything else is wrong usage.
struct Bounds {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// Whether a verb can do without an option.
enum class Need { optional, required };

/// One verb under declaration. Targets are written when the words parse, so they must outlive the
/// parsing: verbs share them with their action. An option's initial value is its default; it is
/// shown in the help where it is a value that the user could have given.
class Verb {
 public:
  Verb(Parser& parser, const std::string& name, const std::string& description);
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  ~Verb();

  /// A word without a dash; required.
  void word(std::string& target, const std::string& name, const std::string& help);
  /// One word or more.
  void words(std::vector<std::string>& target, const std::string& name, const std::string& help);

  /// Any number of words; the target keeps its value where there is none.
  void optional_words(std::vector<std::string>& target, const std::string& name,
                      const std::string& help);

  /// `type` is what stands for the value in the help: "FILE".
  void option(std::string& target, const std::string& name, const std::string& type,
              const std::string& help, Need need = Need::optional);
  void choice(std::string& target, const std::string& name, const std::vector<std::string>& choices,
              const std::string& help);
  /// May be given several times, each with one of `choices`.
  void choices(std::vector<std::string>& target, const std::string& name, const std::string& type,
               const std::vector<std::string>& choices, const std::string& help);
  void number(int& target, const std::string& name, Bounds bounds, const std::string& help);
  void number(std::uint64_t& target, const std::string& name, Bounds bounds,
              const std::string& help);
  /// Exactly `count` numbers.
  void numbers(std::vector<std::int64_t>& target, const std::string& name, const std::string& type,
               int count, Bounds bounds, const std::string& help);
  void flag(bool& target, const std::string& name, const std::string& help);
  /// --json. Whether it was given is the console's to know, from before the words parse.
  void json_flag(const std::string& help = "Answer in JSON");

  /// What --help ends with: remarks, then an example.
  void footer(const std::string& text);
  /// What the words must fulfil together; called once they parse, throws UsageError.
  void check(std::function<void()> check);
  /// What the verb does; to be called last.
  void does(Action action);
  /// Tells whether the option was given; for check(), which is called while the parser lives.
  [[nodiscard]] std::function<bool()> given(const std::string& name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::cli
