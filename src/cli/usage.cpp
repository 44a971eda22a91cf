#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/cli.h"
#include "cli/suggest.h"

namespace assay::cli {
namespace {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "." : fmt::format("; did you mean '{}'?", best);
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

const CLI::App* find_verb(const CLI::App& app, std::string_view name) {
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_name() == name) return verb;
  }
  return nullptr;
}

std::vector<std::string> long_options(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

void check_option(const CLI::App& verb, std::string_view help, std::string_view word) {
  const std::string name(word.substr(0, word.find('=')));
  const std::vector<std::string> known = long_options(verb);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(
      fmt::format("unknown option '{}'{} See '{} --help'", name, did_you_mean(name, known), help));
}

}  // namespace

void check_words(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2) {
    throw UsageError(
        fmt::format("no verb given: {}. See 'assay --help'", fmt::join(verb_names(app), ", ")));
  }
  const std::string_view first = argv[1];
  if (first.starts_with("--")) return check_option(app, "assay", first);
  if (first.starts_with("-")) return;
  const CLI::App* verb = find_verb(app, first);
  if (verb == nullptr) {
    throw UsageError(fmt::format("unknown verb '{}'{} See 'assay --help'", first,
                                 did_you_mean(first, verb_names(app))));
  }
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (word.starts_with("--")) check_option(*verb, fmt::format("assay {}", first), word);
  }
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  std::string help = "assay";
  for (const CLI::App* verb : app.get_subcommands()) help += " " + verb->get_name();
  return fmt::format("{}. See '{} --help'", error.what(), help);
}

}  // namespace assay::cli
