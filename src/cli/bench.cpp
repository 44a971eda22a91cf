#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "assay/assay.h"
#include "base/machine.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/input_bytes.h"
#include "cli/machine.h"
#include "cli/sample_image.h"
#include "cli/table.h"
#include "cli/target_options.h"
#include "cli/verb.h"
#include "pipeline/boundaries.h"
#include "pipeline/measure.h"

namespace assay::cli {
namespace {

constexpr std::uint32_t kPhotoSeed = 2;
constexpr const char* kSynchronization =
    "a call returns when its last worker has finished; wall time of a steady clock around it";
constexpr const char* kOrder = "every boundary once a round, another one first each round";

struct Options {
  std::string bundle;
  std::string boundary = "all";
  std::string image;
  pipeline::MeasureOptions measure;
  TargetOptions target;
};

/// What was measured, and on what.
struct Outcome {
  ModelInfo info;
  Machine machine;
  std::vector<pipeline::Boundary> boundaries;
  std::vector<pipeline::Timing> timings;
  std::size_t photo_bytes = 0;
};

std::vector<pipeline::Boundary> chosen_boundaries(const std::string& name) {
  std::vector<pipeline::Boundary> chosen;
  for (const pipeline::Boundary& boundary :
       {pipeline::kDevice, pipeline::kCall, pipeline::kEndToEnd}) {
    if (name == "all" || name == boundary.name) chosen.push_back(boundary);
  }
  return chosen;
}

/// As many as the rotation needs, all different.
std::vector<image::Image> random_images(const ModelInfo& info, int batch) {
  std::vector<image::Image> images;
  const int count = pipeline::BoundaryInputs::kInputs * batch;
  for (int i = 1; i <= count; ++i) {
    images.push_back(
        random_image(info.input_width, info.input_height, static_cast<std::uint32_t>(i)));
  }
  return images;
}

Outcome measure(const Options& options) {
  Outcome outcome;
  outcome.machine = this_machine();
  outcome.boundaries = chosen_boundaries(options.boundary);
  const Classifier classifier = load(options.bundle, load_options(options.target));
  outcome.info = classifier.info();
  std::vector<std::byte> photo =
      options.image.empty() ? sample_photo(kPhotoSeed) : read_image_bytes(options.image);
  outcome.photo_bytes = photo.size();
  pipeline::BoundaryInputs inputs(classifier, options.target.batch,
                                  random_images(outcome.info, options.target.batch),
                                  {std::move(photo)});
  inputs.verify();
  std::vector<pipeline::Candidate> candidates;
  for (const pipeline::Boundary& boundary : outcome.boundaries) {
    candidates.push_back(inputs.candidate(boundary));
  }
  const int rounds = options.measure.warmup + options.measure.iterations;
  Progress bar("bench", static_cast<std::uint64_t>(rounds));
  outcome.timings = pipeline::measure(candidates, options.measure, [&bar] { bar.advance(); });
  return outcome;
}

double images_per_second(const Options& options, const pipeline::Timing& timing) {
  return options.target.batch / timing.median();
}

/// What a call uses; the other backends take no threads.
int threads(const Options& options, const Outcome& outcome) {
  if (target_of(options.target).backend != "cpu") return 1;
  return options.target.threads == 0 ? outcome.machine.cores : options.target.threads;
}

std::string photo_text(const Options& options, const Outcome& outcome) {
  return fmt::format("{}, {} bytes", options.image.empty() ? "made 500x375 JPEG" : options.image,
                     outcome.photo_bytes);
}

Json to_json(const Options& options, const Outcome& outcome) {
  Json boundaries = Json::array();
  for (std::size_t i = 0; i < outcome.timings.size(); ++i) {
    const pipeline::Timing& timing = outcome.timings[i];
    const Interval interval = timing.interval();
    boundaries.push_back({{"boundary", timing.name},
                          {"what", outcome.boundaries[i].what},
                          {"median_seconds", timing.median()},
                          {"interval_seconds", {interval.low, interval.high}},
                          {"images_per_second", images_per_second(options, timing)},
                          {"samples_seconds", timing.seconds}});
  }
  return {
      {"bundle", options.bundle},
      {"architecture", outcome.info.architecture},
      {"precision", outcome.info.precision},
      {"plan", outcome.info.plan},
      {"batch", options.target.batch},
      {"threads", threads(options, outcome)},
      {"warmup", options.measure.warmup},
      {"iterations", options.measure.iterations},
      {"synchronization", kSynchronization},
      {"order", kOrder},
      {"inputs", fmt::format("{} random batches in rotation", pipeline::BoundaryInputs::kInputs)},
      {"image", photo_text(options, outcome)},
      {"machine", to_json(outcome.machine)},
      {"version", version()},
      {"compiler", compiler()},
      {"boundaries", boundaries}};
}

void print(const Options& options, const Outcome& outcome, Console& console) {
  console.line(fmt::format("{}: {} {}, {}, batch {}", options.bundle, outcome.info.architecture,
                           outcome.info.precision, outcome.info.plan, options.target.batch));
  Table table({"boundary", ">median", "95% interval, ms", ">images/s", "from, to"});
  for (std::size_t i = 0; i < outcome.timings.size(); ++i) {
    const pipeline::Timing& timing = outcome.timings[i];
    const Interval interval = timing.interval();
    table.row({timing.name, fmt::format("{:.3f} ms", 1e3 * timing.median()),
               fmt::format("[{:.3f}, {:.3f}]", 1e3 * interval.low, 1e3 * interval.high),
               fmt::format("{:.1f}", images_per_second(options, timing)),
               std::string(outcome.boundaries[i].what)});
  }
  table.print(console);
  const Machine& machine = outcome.machine;
  console.line(fmt::format("{} iterations after {} to warm up; {}; {}", options.measure.iterations,
                           options.measure.warmup, kOrder, kSynchronization));
  console.line(fmt::format("image of e2e: {}", photo_text(options, outcome)));
  console.line(fmt::format("{}, {} cores, load {:.2f}{}", machine.cpu, machine.cores, machine.load,
                           machine.shared() ? "; a shared CPU: compare within one run, the "
                                              "absolute times are not the machine's"
                                            : ""));
}

ExitCode run_bench(const Options& options, Console& console) {
  const Outcome outcome = measure(options);
  if (console.json()) {
    console.json_answer(to_json(options, outcome));
  } else {
    print(options, outcome, console);
  }
  return kDone;
}

}  // namespace

void add_bench(Parser& parser) {
  constexpr int kMaxRounds = 1'000'000;
  const auto options = std::make_shared<Options>();
  Verb verb(parser, "bench", "Measure how long a bundle takes");
  verb.word(options->bundle, "BUNDLE", "What 'assay build' wrote");
  verb.choice(options->boundary, "--boundary", {"device", "call", "e2e", "all"},
              "Where time starts and stops: device (normalized tensor to logits), call (cropped "
              "8-bit RGB to logits), e2e (encoded file to labels)");
  verb.number(options->measure.iterations, "--iterations", {1, kMaxRounds},
              "Samples of each boundary");
  verb.number(options->measure.warmup, "--warmup", {0, kMaxRounds},
              "Rounds before them that are not kept");
  verb.option(options->image, "--image", "FILE",
              "Encoded image for e2e (default: a made 500x375 JPEG)");
  verb.json_flag("Answer in JSON, with every sample");
  add_target_options(verb, options->target);
  verb.footer(
      "Before timing, every boundary runs twice: logits must be finite and the same.\n"
      "Example:\n"
      "  assay bench xxs.assay --threads 1 --iterations 200\n"
      "  assay bench xxs.assay --boundary e2e --image photo.jpg --json");
  verb.check([options] {
    if (!options->image.empty() && options->boundary != "e2e" && options->boundary != "all") {
      throw UsageError("--image is for the boundary e2e");
    }
  });
  verb.does([options](Console& console) { return run_bench(*options, console); });
}

}  // namespace assay::cli
