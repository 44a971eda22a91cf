#include "cli/verb.h"

#include <fmt/format.h>

#include <utility>

#include "cli/parser.h"

namespace assay::cli {
namespace {

bool within(std::int64_t value, Bounds bounds) {
  return value >= bounds.low && value <= bounds.high;
}

/// The bounds are signed, so that a negative word is out of range where the target is unsigned,
/// too. The help texts name bounds where they matter; CLI11's own description would be noise.
CLI::Validator range(Bounds bounds) { return CLI::Range(bounds.low, bounds.high).description(""); }

/// CLI11 would read 010 as eight and 0x10 as sixteen.
CLI::Validator decimal() {
  return CLI::Validator(
      [](const std::string& word) {
        const std::size_t sign = word.starts_with('-') ? 1 : 0;
        const bool digits =
            word.size() > sign && word.find_first_not_of("0123456789", sign) == std::string::npos;
        const bool plain = digits && (word[sign] != '0' || word.size() == sign + 1);
        return plain ? std::string() : fmt::format("'{}': expected a decimal number", word);
      },
      "");
}

/// An empty word, such as a shell's unset variable, would read as if the option was not given.
CLI::Validator something() {
  return CLI::Validator(
      [](const std::string& word) {
        return word.empty() ? std::string("expected something, found an empty word")
                            : std::string();
      },
      "");
}

}  // namespace

struct Verb::State {
  CLI::App& verb;
  Action& action;
  std::vector<std::function<void()>> checks;
};

Verb::Verb(Parser& parser, const std::string& name, const std::string& description)
    : state_(new State{*parser.app.add_subcommand(name, description), parser.action, {}}) {}

Verb::~Verb() = default;

void Verb::word(std::string& target, const std::string& name, const std::string& help) {
  state_->verb.add_option(name, target, help)->required()->type_name("");
}

void Verb::words(std::vector<std::string>& target, const std::string& name,
                 const std::string& help) {
  state_->verb.add_option(name, target, help)->required()->type_name("");
}

void Verb::optional_words(std::vector<std::string>& target, const std::string& name,
                          const std::string& help) {
  state_->verb.add_option(name, target, help)->type_name("");
}

void Verb::option(std::string& target, const std::string& name, const std::string& type,
                  const std::string& help, Need need) {
  CLI::Option* option = state_->verb.add_option(name, target, help)->type_name(type);
  option->required(need == Need::required)->check(something());
  if (!target.empty()) option->capture_default_str();
}

void Verb::choice(std::string& target, const std::string& name,
                  const std::vector<std::string>& choices, const std::string& help) {
  std::string type;
  for (const std::string& choice : choices) type += (type.empty() ? "" : "|") + choice;
  state_->verb.add_option(name, target, help)
      ->capture_default_str()
      ->check(CLI::IsMember(choices).description(""))
      ->type_name(type);
}

void Verb::choices(std::vector<std::string>& target, const std::string& name,
                   const std::string& type, const std::vector<std::string>& choices,
                   const std::string& help) {
  state_->verb.add_option(name, target, help)
      ->allow_extra_args(false)
      ->check(CLI::IsMember(choices).description(""))
      ->type_name(type);
}

void Verb::number(int& target, const std::string& name, Bounds bounds, const std::string& help) {
  CLI::Option* option = state_->verb.add_option(name, target, help);
  option->check(decimal())->check(range(bounds))->type_name("N");
  if (within(target, bounds)) option->capture_default_str();
}

void Verb::number(std::uint64_t& target, const std::string& name, Bounds bounds,
                  const std::string& help) {
  CLI::Option* option = state_->verb.add_option(name, target, help);
  option->check(decimal())->check(range(bounds))->type_name("N");
  if (within(static_cast<std::int64_t>(target), bounds)) option->capture_default_str();
}

void Verb::numbers(std::vector<std::int64_t>& target, const std::string& name,
                   const std::string& type, int count, Bounds bounds, const std::string& help) {
  state_->verb.add_option(name, target, help)
      ->expected(count)
      ->check(decimal())
      ->check(range(bounds))
      ->type_name(type);
}

void Verb::flag(bool& target, const std::string& name, const std::string& help) {
  state_->verb.add_flag(name, target, help)->disable_flag_override();
}

void Verb::json_flag(const std::string& help) {
  // "--json=true" would have to be looked for twice: before the words parse, too.
  state_->verb.add_flag("--json", help)->disable_flag_override();
}

void Verb::footer(const std::string& text) { state_->verb.footer(text); }

void Verb::check(std::function<void()> check) { state_->checks.push_back(std::move(check)); }

void Verb::does(Action action) {
  state_->verb.callback(
      [&slot = state_->action, action = std::move(action), checks = std::move(state_->checks)] {
        for (const auto& check : checks) check();
        slot = action;
      });
}

std::function<bool()> Verb::given(const std::string& name) const {
  return [&verb = state_->verb, name] { return verb.count(name) > 0; };
}

}  // namespace assay::cli
