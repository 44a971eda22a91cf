#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/inspection.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

ExitCode run_inspect(const InspectOptions& options, Console& console) {
  const Inspection inspection = inspect(options);
  if (console.json()) {
    console.json_answer(to_json(options, inspection));
  } else {
    print_summary(options, inspection, console);
    if (options.layers || options.profile) print_layers(options, inspection, console);
  }
  return kDone;
}

}  // namespace

void add_inspect(Parser& parser) {
  const auto options = std::make_shared<InspectOptions>();
  Verb verb(parser, "inspect", "Show what a bundle or a checkpoint is");
  verb.word(options->path, "BUNDLE|CHECKPOINT",
            "A bundle, or a checkpoint's folder (shown as its default build would be)");
  verb.flag(options->layers, "--layers", "Every step of the plan: tactic, output, work");
  verb.flag(options->profile, "--profile", "The same with each step's time, on one random image");
  verb.json_flag();
  add_backend_options(verb, options->target);
  verb.footer(
      "FLOPs count a multiply-add as two. Parameters are the numbers that the bundle stores, "
      "after\n"
      "BatchNorm is folded into the convolutions.\n"
      "Example:\n"
      "  assay inspect xxs.assay\n"
      "  assay inspect xxs.assay --profile --threads 1");
  verb.does([options](Console& console) { return run_inspect(*options, console); });
}

}  // namespace assay::cli
