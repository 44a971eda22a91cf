#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/thread_pool.h"
#include "bundle/bundle.h"
#include "checkpoint/checkpoint.h"
#include "cli/build_calibration.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/table.h"
#include "cli/tune.h"
#include "cli/verb.h"
#include "image/image.h"
#include "quant/quant.h"

namespace assay::cli {
namespace {

struct Options {
  std::string checkpoint;
  std::string output;
  std::string recipe;
  std::string calibration;
  std::uint64_t calibration_images = 0;  ///< 0: not said
  bundle::BuildOptions build;
  std::vector<std::int64_t> input_size;
  bool tune = false;
  int threads = 0;
};

void print(Console& console, const std::string& path, const bundle::Bundle& bundle) {
  const auto bytes = std::filesystem::file_size(path);
  const image::Transform& transform = bundle.transform;
  if (console.json()) {
    console.json_answer(
        {{"bundle", path},
         {"bytes", bytes},
         {"architecture", bundle.provenance.architecture},
         {"family", bundle.provenance.family},
         {"precision", bundle.precision},
         {"recipe", bundle.provenance.recipe ? Json(bundle.provenance.recipe->name) : Json()},
         {"optimization_level", bundle.optimization_level},
         {"max_batch", bundle.max_batch},
         {"input", {transform.input_height, transform.input_width}},
         {"classes", bundle.labels.size()}});
    return;
  }
  console.line(fmt::format("{}: {}, {}, input {}x{}, {} classes, {}", path,
                           bundle.provenance.architecture, bundle.precision, transform.input_height,
                           transform.input_width, bundle.labels.size(),
                           bytes_text(static_cast<double>(bytes))));
}

/// What the words must say together; what a precision needs is not the checkpoint's business.
void check(const Options& options, bool level_given) {
  if (options.tune && level_given && options.build.optimization_level != 3) {
    throw UsageError(fmt::format("--tune makes level 3, and --opt-level says {}: leave one out",
                                 options.build.optimization_level));
  }
  if (options.threads > 0 && !options.tune) {
    throw UsageError("--threads is for --tune: what a build makes does not depend on it");
  }
  if (options.calibration_images > 0 &&
      (options.calibration.empty() || meant_as_calibration(options.calibration))) {
    throw UsageError("--calibration-images is for --calibration DATA: images to calibrate with");
  }
}

void check_calibration(const Options& options, const quant::Recipe& recipe) {
  const bool needed = quant::needs_calibration(recipe);
  if (needed && options.calibration.empty()) {
    throw UsageError(fmt::format(
        "the recipe {} needs --calibration: images, or a FILE which 'assay calibrate' makes from "
        "the fp32 bundle and images",
        recipe.name));
  }
  if (!needed && !options.calibration.empty()) {
    throw UsageError(fmt::format("--calibration: the recipe {} does not take it", recipe.name));
  }
}

/// The paths that the output must not be.
std::vector<std::filesystem::path> inputs_of(const Options& options,
                                             const checkpoint::Checkpoint& checkpoint) {
  std::vector<std::filesystem::path> inputs;
  for (const checkpoint::SourceFile& file : checkpoint.files) {
    inputs.push_back(checkpoint.folder / file.name);
  }
  if (!options.calibration.empty()) inputs.emplace_back(options.calibration);
  if (!options.recipe.empty()) inputs.emplace_back(options.recipe);
  return inputs;
}

/// Reads or makes the calibration. Images that failed are named; true where there were any.
bool calibrate(const Options& options, const checkpoint::Checkpoint& checkpoint,
               const quant::Recipe& recipe, bundle::BuildOptions& build, Console& console) {
  if (meant_as_calibration(options.calibration)) {
    build.calibration = quant::read_calibration(options.calibration);
    return false;
  }
  const std::uint64_t images =
      options.calibration_images == 0 ? kCalibrationImages : options.calibration_images;
  pipeline::CalibrateReport report =
      calibrate_for(checkpoint, build, recipe, options.calibration, images);
  for (const pipeline::FailedImage& image : report.failed) console.complain(image.message);
  build.calibration = std::move(report.calibration);
  return !report.failed.empty();
}

ExitCode run_build(const Options& options, Console& console) {
  bundle::BuildOptions build = options.build;
  if (!options.input_size.empty()) {
    build.input_height = options.input_size[0];
    build.input_width = options.input_size[1];
  }
  if (!options.recipe.empty()) build.recipe = quant::find_recipe(options.recipe);
  const quant::Recipe recipe = bundle::recipe_of(build);
  check_calibration(options, recipe);
  const checkpoint::Checkpoint checkpoint = checkpoint::open(options.checkpoint);
  check_output(options.output, inputs_of(options, checkpoint));
  bool failed = false;
  if (!options.calibration.empty()) {
    failed = calibrate(options, checkpoint, recipe, build, console);
  }
  bundle::Bundle bundle = bundle::build(checkpoint, build);
  std::optional<backend::Tuned> tuned;
  if (options.tune) tuned = tune(bundle, options.threads, backend::TuneOptions().runs);
  bundle::write(bundle, options.output);
  print(console, options.output, bundle);
  if (tuned && !console.json()) console.line(tuning_text(bundle, *tuned));
  return failed ? kBadInput : kDone;
}

}  // namespace

void add_build(Parser& parser) {
  const auto options = std::make_shared<Options>();
  Verb verb(parser, "build", "Build a bundle from a checkpoint");
  verb.word(options->checkpoint, "CHECKPOINT",
            "Folder with config.json and model.safetensors (or its shards and their index)");
  verb.option(options->output, "-o,--output", "FILE",
              "The bundle to write; replaced if it is there", Need::required);
  verb.option(options->build.precision, "--precision", "fp32|fp16|bf16|int8|fp8|nvfp4",
              "The narrowest format of the products' operands (default: the recipe's, or fp32)");
  verb.option(options->recipe, "--recipe", "NAME|FILE",
              "Which layers are in which format: a built-in recipe or a TOML file (default: the "
              "precision's)");
  verb.option(options->calibration, "--calibration", "FILE|DATA",
              "The ranges that int8 and fp8 need: from 'assay calibrate', or images to find them "
              "with, as 'assay eval' takes them");
  verb.number(options->calibration_images, "--calibration-images", {1, std::int64_t{1} << 31},
              fmt::format("How many of DATA, evenly spread (default: {})", kCalibrationImages));
  verb.number(options->build.optimization_level, "--opt-level", {0, 5},
              "0: one step an operator, for debugging. 1: every fusion. 3: the same with what "
              "tuning finds");
  verb.flag(options->tune, "--tune",
            "Measure tactics on this machine and keep the best (level 3; see 'assay tune')");
  verb.number(options->threads, "--threads", {1, kMaxThreads},
              "Threads to tune for (default: every core this process may use)");
  verb.number(options->build.max_batch, "--max-batch", {1, bundle::kMaxBatch},
              "Images a call that programs get when they ask for no other");
  verb.numbers(options->input_size, "--input-size", "PIXELS", 2, {1, image::kMaxInputSide},
               "Input height and width, where the configuration does not fix them");
  verb.json_flag();
  verb.check(
      [options, level_given = verb.given("--opt-level")] { check(*options, level_given()); });
  verb.footer(
      "Example:\n"
      "  assay build examples/mobilevit_xxs.fashion_mnist -o xxs.assay\n"
      "  assay build examples/mobilevit_s.fashion_mnist -o s288.assay --input-size 288 288\n"
      "  assay build examples/mobilevit_s.fashion_mnist -o s-bf16.assay --precision bf16\n"
      "  assay build examples/mobilevit_s.fashion_mnist -o s-int8.assay --recipe int8-cpu \\\n"
      "    --calibration examples/fashion-mnist/t10k-images-idx3-ubyte.gz");
  verb.does([options](Console& console) { return run_build(*options, console); });
}

}  // namespace assay::cli
