#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/verb.h"
#include "study/study.h"

namespace assay::cli {
namespace {

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

ExitCode run_validate(const std::vector<std::string>& words, Console& console) {
  const std::vector<std::filesystem::path> paths(words.begin(), words.end());
  const study::Validation found = study::validate(paths);
  if (console.json()) {
    console.json_answer({{"manifests", found.manifests},
                         {"recipes", found.recipes},
                         {"specifications", found.specifications},
                         {"records", found.records},
                         {"pages", found.pages},
                         {"problems", found.problems}});
  } else {
    for (const std::string& problem : found.problems) console.line(problem);
    console.line(fmt::format(
        "checked {}, {}, {}, {}, {}", counted(found.manifests, "manifest", "manifests"),
        counted(found.recipes, "recipe", "recipes"),
        counted(found.specifications, "specification", "specifications"),
        counted(found.records, "study", "studies"), counted(found.pages, "page", "pages")));
  }
  if (found.problems.empty()) return kDone;
  console.complain(counted(found.problems.size(), "problem", "problems") + " found");
  return kBadInput;
}

}  // namespace

void add_validate(Parser& parser) {
  const auto paths = std::make_shared<std::vector<std::string>>(std::vector<std::string>{"."});
  Verb verb(parser, "validate", "Check manifests, recipes, studies and pages of Markdown");
  verb.optional_words(*paths, "PATH", "Files, and folders with all that they hold");
  verb.json_flag();
  verb.footer(
      "They are checked against this build and against each other: known architectures, "
      "precisions\n"
      "and recipes, checkpoints and studies that are there, records that their own schema reads,\n"
      "numbers in a record's README.md that its study.json has; of pages, the columns of tables,\n"
      "code fences and relative links.\n"
      "Example:\n"
      "  assay validate manifests recipes studies");
  verb.does([paths](Console& console) { return run_validate(*paths, console); });
}

}  // namespace assay::cli
