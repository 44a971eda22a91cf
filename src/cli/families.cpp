#include "families/families.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

ExitCode run_families(Console& console) {
  Json answer = Json::array();
  for (const families::Family& family : families::all()) {
    if (console.json()) {
      answer.push_back({{"family", family.name},
                        {"description", family.description},
                        {"architectures", family.architectures}});
      continue;
    }
    console.line(fmt::format("{}: {}", family.name, family.description));
    for (const std::string_view name : family.architectures)
      console.line(fmt::format("  {}", name));
  }
  if (console.json()) console.json_answer({{"families", answer}});
  return kDone;
}

}  // namespace

void add_families(Parser& parser) {
  Verb verb(parser, "families", "List the families and architectures there are");
  verb.json_flag();
  verb.footer("Example:\n  assay families");
  verb.does(run_families);
}

}  // namespace assay::cli
