#include "cli/tune.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "base/thread_pool.h"
#include "bundle/bundle.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

constexpr int kMaxRuns = 10'000;

struct Options {
  std::string bundle;
  std::string output;
  int threads = 0;
  int runs = backend::TuneOptions().runs;
};

Json to_json(const Options& options, const bundle::Bundle& bundle, const backend::Tuned& tuned) {
  const bundle::Tuning& entry = bundle.tunings.back();
  return {{"bundle", options.output},
          {"cpu", entry.cpu},
          {"isa", entry.isa},
          {"threads", entry.threads},
          {"plans", tuned.plans + 1},
          {"runs", options.runs},
          {"tactics", entry.tactics},
          {"default_ms", 1e3 * tuned.default_seconds},
          {"tuned_ms", 1e3 * tuned.tuned_seconds}};
}

ExitCode run_tune(Options options, Console& console) {
  if (options.output.empty()) {
    options.output = options.bundle;
    check_output(options.output, {});
  } else {
    check_output(options.output, std::vector<std::filesystem::path>{options.bundle});
  }
  bundle::Bundle bundle = bundle::read(options.bundle);
  const backend::Tuned tuned = tune(bundle, options.threads, options.runs);
  bundle::write(bundle, options.output);
  if (console.json()) {
    console.json_answer(to_json(options, bundle, tuned));
  } else {
    console.line(fmt::format("{}: {}", options.output, tuning_text(bundle, tuned)));
    for (const auto& [step, tactic] : bundle.tunings.back().tactics) {
      console.line(fmt::format("  {}: {}", step, tactic));
    }
  }
  return kDone;
}

}  // namespace

backend::Tuned tune(bundle::Bundle& bundle, int threads, int runs) {
  Progress bar("tune", static_cast<std::uint64_t>(2 * runs));
  return bundle::tune(bundle, threads, {runs, [&bar](int, int) { bar.advance(); }});
}

std::string tuning_text(const bundle::Bundle& bundle, const backend::Tuned& tuned) {
  const bundle::Tuning& entry = bundle.tunings.back();
  if (entry.tactics.empty()) {
    return fmt::format(
        "nothing beats the default tactics on {} ({}, {} thread{}): {:.3f} ms a call", entry.cpu,
        entry.isa, entry.threads, entry.threads == 1 ? "" : "s", 1e3 * tuned.default_seconds);
  }
  return fmt::format(
      "{} steps tuned on {} ({}, {} thread{}): {:.3f} ms a call, {:.3f} ms with default tactics",
      entry.tactics.size(), entry.cpu, entry.isa, entry.threads, entry.threads == 1 ? "" : "s",
      1e3 * tuned.tuned_seconds, 1e3 * tuned.default_seconds);
}

void add_tune(Parser& parser) {
  const auto options = std::make_shared<Options>();
  Verb verb(parser, "tune", "Measure tactics on this machine and keep the best in the bundle");
  verb.word(options->bundle, "BUNDLE", "A bundle of optimization level 1 or 3");
  verb.option(options->output, "-o,--output", "FILE",
              "Where to write the tuned bundle (default: the bundle itself)");
  verb.number(options->threads, "--threads", {1, kMaxThreads},
              "Threads of the calls to come (default: every core this process may use)");
  verb.number(options->runs, "--runs", {3, kMaxRuns}, "Calls of each plan");
  verb.json_flag();
  verb.footer(
      "The results hold for this processor, its instruction set and this number of threads;\n"
      "elsewhere the bundle runs as level 1 does. Tune on a machine that does nothing else.\n"
      "Example:\n"
      "  assay tune xxs.assay --threads 2");
  verb.does([options](Console& console) { return run_tune(*options, console); });
}

}  // namespace assay::cli
