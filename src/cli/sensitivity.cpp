#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "bundle/bundle.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "pipeline/reference_logits.h"
#include "quant/quant.h"
#include "study/study.h"

namespace assay::cli {
namespace {

struct Options {
  std::string bundle;
  std::string recipe;
  std::string calibration;
  std::string data;
  std::string reference;
  std::string output;
  std::string plot;
  study::SelectionSpec selection{.limit = 500};
  int threads = 0;
};

/// The table, and what it is of.
struct Outcome {
  std::string architecture;
  std::string recipe;
  std::size_t images = 0;
  std::vector<quant::LayerError> layers;
};

std::vector<std::uint64_t> positions(const Options& options, const study::DataSource& source) {
  const std::uint64_t samples = study::count_samples(source);
  const study::SelectionSpec& selection = options.selection;
  std::vector<std::uint64_t> positions = study::positions_of(samples, selection);
  if (positions.empty())
    fail(ErrorKind::bad_input, "{}: no image is selected by offset {} and stride {} of {}",
         options.data, selection.offset, selection.stride, samples);
  return positions;
}

std::vector<float> reference_of(const Options& options, const bundle::Bundle& bundle,
                                const study::Images& images, const quant::ImageSet& set,
                                const quant::RunOptions& run) {
  if (options.reference.empty()) return quant::run_images(bundle.graph, set, run);
  const pipeline::ReferenceLogits file(options.reference, static_cast<int>(bundle.labels.size()));
  std::vector<float> logits;
  for (std::size_t i = 0; i < images.count(); ++i) {
    file.check_label(images.positions[i], images.labels[i]);
    const auto row = file.row(images.positions[i]);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

void check_calibration(const Options& options, const quant::Recipe& recipe) {
  const bool needed = quant::needs_calibration(recipe);
  if (needed && options.calibration.empty()) {
    throw UsageError(
        fmt::format("the recipe {} needs --calibration FILE, which 'assay calibrate' makes from "
                    "the fp32 bundle "
                    "and images",
                    recipe.name));
  }
  if (!needed && !options.calibration.empty()) {
    throw UsageError(fmt::format("--calibration: the recipe {} does not take it", recipe.name));
  }
}

Outcome measure(const Options& options) {
  const quant::Recipe recipe = quant::find_recipe(options.recipe);
  check_calibration(options, recipe);
  const bundle::Bundle bundle = bundle::read(options.bundle);
  std::optional<quant::Calibration> calibration;
  if (!options.calibration.empty()) calibration = quant::read_calibration(options.calibration);
  const quant::Calibration* used = calibration ? &*calibration : nullptr;
  const study::DataSource source{options.data, bundle.labels, bundle.transform};
  const std::size_t runs = quant::sensitivity_runs(*bundle.graph, recipe, used);
  const study::Images images =
      study::load_images(source, positions(options, source), options.threads);
  const quant::ImageSet set{images.rgb, images.count(),
                            bundle::lower_options(bundle, {}, options.threads).normalization};
  Progress bar("sensitivity", runs + 1);
  quant::RunOptions run;
  run.threads = options.threads;
  run.tick = [&bar] { bar.advance(); };
  const std::vector<float> reference = reference_of(options, bundle, images, set, run);
  return {bundle.provenance.architecture, recipe.name, images.count(),
          quant::sensitivity(*bundle.graph, recipe, used, set, reference, run)};
}

/// Infinite where nothing differs, which JSON has no number for.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(value > 0 ? "Infinity" : "-Infinity");
}

Json to_json(const Outcome& outcome) {
  Json layers = Json::array();
  for (const quant::LayerError& layer : outcome.layers)
    layers.push_back({{"layer", layer.decision.layer},
                      {"role", graph::name(layer.decision.role)},
                      {"precision", graph::name(layer.decision.precision)},
                      {"multiply_adds", layer.decision.multiply_adds},
                      {"sqnr_db", number(layer.error.sqnr_db)},
                      {"agreement", layer.error.agreement},
                      {"kl", number(layer.error.kl)}});
  return {{"architecture", outcome.architecture},
          {"recipe", outcome.recipe},
          {"images", outcome.images},
          {"layers", std::move(layers)}};
}

/// RFC 4180; layer names may hold anything.
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string to_csv(const Outcome& outcome) {
  std::string csv = "layer,role,precision,multiply_adds,sqnr_db,agreement,kl\r\n";
  for (const quant::LayerError& layer : outcome.layers)
    csv += fmt::format("{},{},{},{},{},{},{}\r\n", csv_text(layer.decision.layer),
                       graph::name(layer.decision.role), graph::name(layer.decision.precision),
                       layer.decision.multiply_adds, layer.error.sqnr_db, layer.error.agreement,
                       layer.error.kl);
  return csv;
}

/// The layers as the network has them, so that neighbours are neighbours.
std::string plot(const Outcome& outcome) {
  std::vector<study::LayerBar> bars;
  for (const quant::LayerError& layer : outcome.layers)
    bars.push_back({layer.decision.layer, layer.error.sqnr_db});
  return study::layer_plot(
      fmt::format("{}, {}: SQNR of the logits with one layer narrow, {} images",
                  outcome.architecture, outcome.recipe, outcome.images),
      bars);
}

void print(const Outcome& outcome, Console& console) {
  Table table({"layer", "role", "precision", ">SQNR dB", ">agreement", ">KL", ">M multiply-adds"});
  std::vector<const quant::LayerError*> worst;
  for (const quant::LayerError& layer : outcome.layers) worst.push_back(&layer);
  std::ranges::stable_sort(worst, {}, [](const auto* layer) { return layer->error.sqnr_db; });
  for (const quant::LayerError* layer : worst)
    table.row({layer->decision.layer, std::string(graph::name(layer->decision.role)),
               std::string(graph::name(layer->decision.precision)),
               fmt::format("{:.1f}", layer->error.sqnr_db),
               fmt::format("{:.4f}", layer->error.agreement),
               fmt::format("{:.2e}", layer->error.kl),
               fmt::format("{:.2f}", layer->decision.multiply_adds / 1e6)});
  table.print(console);
  console.line(fmt::format("{} by {}, each layer alone, over {} images; the worst first",
                           outcome.architecture, outcome.recipe, outcome.images));
}

std::vector<std::filesystem::path> inputs(const Options& options) {
  std::vector<std::filesystem::path> paths{options.bundle, options.data};
  for (const std::string& path : {options.recipe, options.calibration, options.reference})
    if (!path.empty()) paths.emplace_back(path);
  return paths;
}

ExitCode run_sensitivity(const Options& options, Console& console) {
  if (!options.output.empty()) check_output(options.output, inputs(options));
  if (!options.plot.empty()) check_output(options.plot, inputs(options));
  const Outcome outcome = measure(options);
  if (options.output.ends_with(".csv")) write_file(options.output, to_csv(outcome));
  if (options.output.ends_with(".json"))
    write_file(options.output, to_json(outcome).dump(1) + "\n");
  if (!options.plot.empty()) write_file(options.plot, plot(outcome));
  if (console.json())
    console.json_answer(to_json(outcome));
  else
    print(outcome, console);
  return kDone;
}

}  // namespace

void add_sensitivity(Parser& parser) {
  constexpr std::int64_t kMany = 1'000'000'000;
  const auto options = std::make_shared<Options>();
  Verb verb(parser, "sensitivity", "Find out what rounding each layer alone does to the logits");
  verb.word(options->bundle, "BUNDLE", "What 'assay build' wrote, at precision fp32");
  verb.option(options->recipe, "--recipe", "RECIPE",
              "A shipped recipe's name or a .toml file: which layers, and how", Need::required);
  verb.option(options->data, "--data", "DATA", "Images as 'assay eval' takes them", Need::required);
  verb.option(options->calibration, "--calibration", "FILE",
              "What 'assay calibrate' wrote of this bundle, where the recipe needs it");
  verb.option(options->reference, "--reference", "FILE",
              "Logits to compare with (default: the bundle's own at fp32): safetensors with "
              "'logits' [images, classes]");
  verb.number(options->selection.stride, "--stride", {1, kMany}, "Take every N-th image");
  verb.number(options->selection.offset, "--offset", {0, kMany},
              "Begin at image N, counting from 0");
  verb.number(options->selection.limit, "--limit", {1, 20'000}, "Take N images at most");
  verb.number(options->threads, "--threads", {1, kMaxThreads},
              "Threads (default: every core this process may use)");
  verb.option(options->output, "-o,--output", "FILE", "Write the table: .json or .csv");
  verb.option(options->plot, "--plot", "FILE", "Draw it: an .svg file");
  verb.json_flag();
  verb.footer(
      "One run over all images a layer: images are kept in memory.\n"
      "Example:\n"
      "  assay sensitivity xxs.assay --recipe fp8-vit-max --calibration xxs.json \\\n"
      "    --data examples/fashion-mnist/t10k-images-idx3-ubyte.gz --plot xxs.svg");
  verb.check([options] {
    const bool known = options->output.empty() || options->output.ends_with(".json") ||
                       options->output.ends_with(".csv");
    if (!known) throw UsageError("-o needs a name that ends in .json or .csv");
    if (!options->plot.empty() && !options->plot.ends_with(".svg"))
      throw UsageError("--plot needs a name that ends in .svg");
  });
  verb.does([options](Console& console) { return run_sensitivity(*options, console); });
}

}  // namespace assay::cli
