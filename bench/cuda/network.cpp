#include "network.h"

#include <filesystem>
#include <random>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "quant/quant.h"

namespace assay::bench {
namespace {

constexpr unsigned kSeed = 20;

/// `options.calibration`, or in that folder the checkpoint's own file.
quant::Calibration calibration_for(const std::filesystem::path& checkpoint,
                                   const quant::Recipe& recipe, const Options& options) {
  if (options.calibration.empty()) {
    fail(ErrorKind::bad_input, "the recipe {} needs --calibration: 'assay calibrate' makes one",
         recipe.name);
  }
  std::filesystem::path file = options.calibration;
  if (std::filesystem::is_directory(file)) {
    const std::filesystem::path named =
        checkpoint.has_filename() ? checkpoint : checkpoint.parent_path();
    file /= named.filename().string() + ".calibration";
  }
  return quant::read_calibration(file);
}

Network build(const std::string& folder, const std::string& precision, const Options& options) {
  bundle::BuildOptions build;
  build.precision = precision;
  if (!options.recipe.empty()) build.recipe = quant::find_recipe(options.recipe);
  const quant::Recipe recipe = bundle::recipe_of(build);
  if (quant::needs_calibration(recipe)) {
    build.calibration = calibration_for(folder, recipe, options);
  }
  Network network{"", folder, build.recipe ? recipe.name : precision, {}};
  network.bundle = bundle::build(checkpoint::open(folder), build);
  network.model = network.bundle.provenance.architecture;
  return network;
}

Network read(const std::string& file) {
  Network network{"", file, "", bundle::read(file)};
  network.model = network.bundle.provenance.architecture;
  const auto& recipe = network.bundle.provenance.recipe;
  network.format = recipe ? recipe->name : network.bundle.precision;
  return network;
}

/// (pixel / 255 - mean) / std.
std::vector<float> normalized(const std::vector<std::uint8_t>& rgb,
                              const image::Transform& transform) {
  constexpr float kWhite = 255.0F;
  std::vector<float> tensor(rgb.size());
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    const auto mean = static_cast<float>(transform.mean[i % 3]);
    const auto std = static_cast<float>(transform.std[i % 3]);
    tensor[i] = (static_cast<float>(rgb[i]) / kWhite - mean) / std;
  }
  return tensor;
}

std::size_t numbers(const graph::Graph& graph, graph::ValueId id) {
  return static_cast<std::size_t>(graph::elements(graph.value(id).dims));
}

}  // namespace

std::size_t Network::pixels() const { return numbers(graph(), graph().input); }
std::size_t Network::classes() const { return numbers(graph(), graph().output("logits")); }

std::vector<Network> open_networks(const Options& options) {
  std::vector<std::string> precisions = options.precisions;
  if (!options.recipe.empty()) precisions = {""};
  std::vector<Network> networks;
  for (const std::string& source : options.sources) {
    if (bundle::looks_like_bundle(source)) {
      networks.push_back(read(source));
      continue;
    }
    for (const std::string& precision : precisions) {
      networks.push_back(build(source, precision, options));
    }
  }
  return networks;
}

std::shared_ptr<backend::Plan> lower(const Network& network, const backend::Target& target,
                                     int level, int batch) {
  backend::LowerOptions options = bundle::lower_options(network.bundle, target, 0);
  options.optimization_level = level;
  options.max_batch = batch;
  options.tactics.clear();
  return backend::lower(network.bundle.graph, target, options);
}

std::vector<std::uint8_t> random_images(const Network& network, int images) {
  std::mt19937 random(kSeed);
  std::vector<std::uint8_t> pixels(network.pixels() * static_cast<std::size_t>(images));
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random() >> 24);
  return pixels;
}

Subject make_subject(const Network& network, const Options& options, int batch) {
  const std::shared_ptr<backend::Plan> plan =
      lower(network, {"cuda", options.device}, options.level, batch);
  const auto* const cuda = dynamic_cast<const backend::cuda::CudaPlan*>(plan.get());
  if (cuda == nullptr) {
    fail(ErrorKind::internal, "{}: the cuda backend made a plan of another kind", network.title());
  }
  Subject subject{&network, batch, plan, nullptr, {}, {}, {}};
  subject.session = std::make_unique<backend::cuda::CudaSession>(cuda->data());
  subject.rgb = random_images(network, batch);
  subject.tensor = normalized(subject.rgb, network.bundle.transform);
  subject.logits.resize(network.classes() * static_cast<std::size_t>(batch));
  return subject;
}

}  // namespace assay::bench
