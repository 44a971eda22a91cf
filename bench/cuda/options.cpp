#include "options.h"

#include <CLI/CLI.hpp>
#include <map>

namespace assay::bench {
namespace {

constexpr int kMaxBatch = 4096;
constexpr int kMaxCount = 100'000;

void add_timing(CLI::App& app, Options& options) {
  app.add_option("--batches", options.batches, "Images a call")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxBatch))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds that count; each times everything once")
      ->check(CLI::Range(2, kMaxCount))
      ->capture_default_str();
  app.add_option("--warmup", options.warmup, "Calls in front of each turn that do not count")
      ->check(CLI::Range(0, kMaxCount))
      ->capture_default_str();
  app.add_option("--count", options.count, "Timed calls a turn")
      ->check(CLI::Range(1, kMaxCount))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "How many of the slowest steps to print a network")
      ->check(CLI::Range(0, kMaxCount))
      ->capture_default_str();
}

void add_networks(CLI::App& app, Options& options) {
  app.add_option("SOURCE", options.sources, "Checkpoints' folders and bundles")->required();
  CLI::Option* const precision =
      app.add_option("--precision", options.precisions,
                     "What checkpoints are built at, one after another (default: fp16)")
          ->delimiter(',')
          ->check(CLI::IsMember({"fp32", "fp16", "bf16", "fp8", "nvfp4"}));
  app.add_option("--recipe", options.recipe, "A built-in recipe or a TOML file, for checkpoints")
      ->excludes(precision);
  app.add_option("--calibration", options.calibration,
                 "For fp8: what 'assay calibrate' wrote, or a folder with such a file a "
                 "checkpoint, NAME.calibration")
      ->check(CLI::ExistingPath);
  app.add_option("--level", options.level, "Optimization level of the lowering: 0 or 1")
      ->check(CLI::IsMember({0, 1}))
      ->capture_default_str();
  app.add_option("--device", options.device, "Which GPU")
      ->check(CLI::Range(0, 63))
      ->capture_default_str();
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& options = parsed.options;
  CLI::App app("Checks networks on a GPU, value by value, and times them.");
  add_networks(app, options);
  add_timing(app, options);
  app.add_flag("--check-only", options.check_only, "Check and time nothing");
  app.add_option("--json", options.json, "Where to write everything, every sample included");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    constexpr int kWrongUsage = 2;
    parsed.exit_code = app.exit(error) == 0 ? 0 : kWrongUsage;
    return parsed;
  }
  if (options.precisions.empty() && options.recipe.empty()) options.precisions = {"fp16"};
  return parsed;
}

}  // namespace assay::bench
