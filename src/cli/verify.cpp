#include <memory>
#include <nlohmann/json.hpp>

#include "bundle/bundle.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

Json to_json(const std::string& path, const std::vector<bundle::Check>& checks, bool passed) {
  Json list = Json::array();
  for (const bundle::Check& check : checks) {
    Json entry{{"name", check.name}, {"passed", check.passed()}, {"detail", check.detail}};
    if (check.failure) entry["kind"] = kind_name(*check.failure);
    list.push_back(std::move(entry));
  }
  return {{"bundle", path}, {"passed", passed}, {"checks", list}};
}

ExitCode run_verify(const std::string& path, Console& console) {
  const std::vector<bundle::Check> checks = bundle::verify(path);
  ExitCode exit = kDone;
  Table table;
  for (const bundle::Check& check : checks) {
    table.row({check.passed() ? "ok" : "FAILED", check.name, check.detail});
    if (check.failure) exit = exit_code(*check.failure);
  }
  if (console.json()) {
    console.json_answer(to_json(path, checks, exit == kDone));
  } else {
    table.print(console);
  }
  if (exit != kDone) console.complain(path + ": " + checks.back().detail);
  return exit;
}

}  // namespace

void add_verify(Parser& parser) {
  const auto path = std::make_shared<std::string>();
  Verb verb(parser, "verify", "Check a bundle, one property after another");
  verb.word(*path, "BUNDLE", "What 'assay build' wrote");
  verb.json_flag();
  verb.footer(
      "The first check that fails ends the list, as the later ones would read what it could not\n"
      "vouch for.\n"
      "Example:\n"
      "  assay verify xxs.assay");
  verb.does([path](Console& console) { return run_verify(*path, console); });
}

}  // namespace assay::cli
