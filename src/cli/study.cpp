#include "study/study.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> words;  ///< the specification, or folders of studies
  std::string output;
  bool resume = false;
  bool verify = false;
  bool compare = false;
  std::uint64_t sample = 0;
  int threads = 0;
};

/// Set by the first interrupt; a second one ends the program as if nobody listened.
std::atomic<bool> interrupted{false};

void note_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

/// Listens for Ctrl-C and a polite kill, until destruction.
class Interrupts {
 public:
  Interrupts() {
    std::signal(SIGINT, note_interrupt);
    std::signal(SIGTERM, note_interrupt);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
  [[nodiscard]] static bool arrived() { return interrupted; }
};

std::string decibels(double value) { return fmt::format("{:.1f}", value); }

void print(const study::Study& study, const Options& options, Console& console) {
  Table table({"model", "variant", ">top1", ">agreement", ">SQNR dB", ">call speedup", "ships"});
  for (const study::Model& model : study.models)
    for (const study::Variant& variant : model.variants) {
      std::string speedup = "-";
      for (const study::SpeedRow& row : variant.speed.batch)
        if (row.boundary == "call" && row.ratio_to_fp32 && speedup == "-")
          speedup = fmt::format("{:.2f}", row.ratio_to_fp32->value);
      table.row({model.name, variant.name, fmt::format("{:.4f}", variant.quality.top1),
                 fmt::format("{:.4f}", variant.quality.agreement_fp32.value),
                 decibels(variant.quality.sqnr_db.value), speedup,
                 variant.verdict.ship
                     ? "yes"
                     : fmt::format("no: {}", fmt::join(variant.verdict.failed, ", "))});
    }
  table.print(console);
  console.line(fmt::format("{}: study.json, README.md, report.html", options.output));
}

/// Nothing is run again. A page that is lacking, as the program was ended before it wrote it, is
/// written.
ExitCode show_finished(const study::Study& study, const Options& options, Console& console) {
  const fs::path folder = options.output;
  if (!fs::exists(folder / "README.md")) write_file(folder / "README.md", study::readme(study));
  if (!fs::exists(folder / "report.html"))
    write_file(folder / "report.html", study::report_html(study));
  if (console.json()) {
    console.json_answer(study::to_json(study));
  } else {
    print(study, options, console);
    console.line(
        fmt::format("{}: was finished already, on {} by Assay {}, and nothing was run; 'assay "
                    "study --verify {}' runs it again and compares",
                    options.output, study.created, study.assay, options.output));
  }
  return kDone;
}

ExitCode run_study(const Options& options, Console& console) {
  const study::Spec spec = study::read_spec(options.words.front());
  study::RunStudyOptions run;
  run.output = options.output;
  run.resume = options.resume;
  run.threads = options.threads;
  run.stop = &Interrupts::arrived;
  if (options.resume)
    if (const auto finished = study::finished_study(spec, run))
      return show_finished(*finished, options, console);
  const Interrupts interrupts;
  try {
    const study::Study study = study::run_study(spec, run);
    write_file(run.output / "README.md", study::readme(study));
    write_file(run.output / "report.html", study::report_html(study));
    if (console.json())
      console.json_answer(study::to_json(study));
    else
      print(study, options, console);
    return kDone;
  } catch (const study::StudyStopped&) {
    console.complain(fmt::format("stopped; 'assay study {} -o {} --resume' goes on",
                                 options.words.front(), options.output));
    return kFailed;
  }
}

const char* name(study::Outcome outcome) {
  switch (outcome) {
    case study::Outcome::holds:
      return "holds";
    case study::Outcome::differs:
      return "DIFFERS";
    case study::Outcome::not_judged:
      break;
  }
  return "not judged";
}

ExitCode run_verify(const Options& options, Console& console) {
  const Interrupts interrupts;
  study::VerifyOptions verify;
  verify.sample = options.sample;
  verify.stop = &Interrupts::arrived;
  if (!console.json())
    verify.on_check = [&](const study::VerifyCheck& check) {
      console.line(fmt::format("{:<11}{}: {}", name(check.outcome), check.name, check.detail));
    };
  const auto checks = study::verify_study(options.words.front(), verify);
  Json answer = Json::array();
  std::size_t different = 0;
  for (const study::VerifyCheck& check : checks) {
    different += check.outcome == study::Outcome::differs ? 1 : 0;
    answer.push_back(
        {{"check", check.name}, {"outcome", name(check.outcome)}, {"detail", check.detail}});
  }
  if (console.json())
    console.json_answer(answer);
  else
    console.line(different == 0 ? fmt::format("{}: {} checks, none differs", options.words.front(),
                                              checks.size())
                                : fmt::format("{}: {} of {} checks differ", options.words.front(),
                                              different, checks.size()));
  return different == 0 ? kDone : kFailed;
}

Json to_json(const study::Comparison& comparison) {
  Json variants = Json::array();
  for (const study::ComparedVariant& variant : comparison.variants)
    variants.push_back({{"model", variant.first_model->name},
                        {"variant", variant.first->name},
                        {"quality", study::name_of(variant.quality)},
                        {"speed", study::name_of(variant.speed)},
                        {"same_verdict", variant.same_verdict}});
  return {{"cautions", comparison.cautions}, {"variants", std::move(variants)}};
}

ExitCode run_compare(const Options& options, Console& console) {
  const study::Study first = study::read_study(fs::path(options.words[0]) / "study.json");
  const study::Study second = study::read_study(fs::path(options.words[1]) / "study.json");
  const study::Comparison comparison = study::compare(first, second);
  if (console.json())
    console.json_answer(to_json(comparison));
  else
    console.text(study::compare_text(comparison));
  return kDone;
}

ExitCode run_verb(const Options& options, Console& console) {
  try {
    if (options.verify) return run_verify(options, console);
    if (options.compare) return run_compare(options, console);
    return run_study(options, console);
  } catch (const study::StudyStopped&) {
    console.complain("stopped");
    return kFailed;
  }
}

void check(const Options& options, bool sampled) {
  const auto refuse = [](bool wrong, const char* message) {
    if (wrong) throw UsageError(message);
  };
  refuse(options.verify && options.compare, "--verify and --compare: one at a time");
  refuse(sampled && !options.verify, "--sample is for --verify");
  const bool runs = !options.verify && !options.compare;
  refuse(runs && options.output.empty(), "a study needs -o DIR");
  refuse(!runs && (!options.output.empty() || options.resume || options.threads != 0),
         "-o, --resume and --threads are for running a study");
  const std::size_t words = options.compare ? 2 : 1;
  refuse(options.words.size() != words,
         options.compare ? "--compare takes the folders of two studies"
                         : "one specification, or with --verify one folder, is expected");
}

}  // namespace

void add_study(Parser& parser) {
  const auto options = std::make_shared<Options>();
  Verb verb(parser, "study", "Measure builds of checkpoints and say which should ship");
  verb.words(options->words, "SPEC",
             "The specification, a TOML file; with --verify or --compare, a study's folder or two");
  verb.option(options->output, "-o,--output", "DIR",
              "Folder for study.json, README.md, report.html and what they rest on");
  verb.flag(options->resume, "--resume",
            "Go on with a study that was interrupted; one that is finished is left as it is");
  verb.number(options->threads, "--threads", {1, kMaxThreads},
              "Threads of every variant that names none (default: the specification's, or all "
              "cores)");
  verb.flag(options->verify, "--verify", "Run the study in a folder again and compare");
  verb.number(options->sample, "--sample", {1, 1'000'000},
              "With --verify: only N held-out images of each model, and no speed");
  verb.flag(options->compare, "--compare", "Set two studies side by side");
  verb.json_flag();
  verb.footer(
      "A study that is stopped, by Ctrl-C or otherwise, keeps what is done: --resume goes on.\n"
      "--verify exits with 1 where anything differs. docs/studies.md has the specification's "
      "keys.\n"
      "Example:\n"
      "  assay study studies/mobilevit-cpu.toml -o again\n"
      "  assay study --verify studies/mobilevit-cpu --sample 20\n"
      "  assay study --compare studies/mobilevit-cpu again");
  verb.check([options, sampled = verb.given("--sample")] { check(*options, sampled()); });
  verb.does([options](Console& console) { return run_verb(*options, console); });
}

}  // namespace assay::cli
