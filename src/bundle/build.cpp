
#include "assay/assay.h"
#include "base/error.h"
#include "bundle/bundle.h"
#include "bundle/finite.h"
#include "families/families.h"
#include "graph/passes.h"
#include "image/limits.h"
#include "quant/quantize.h"

namespace assay::bundle {
namespace {

void check_calibration(const quant::Recipe& recipe, const BuildOptions& options) {
  const bool needed = quant::needs_calibration(recipe);
  if (needed && !options.calibration)
    fail(ErrorKind::bad_input,
         "the recipe {} needs a calibration: 'assay calibrate' makes one from the fp32 bundle and "
         "images",
         recipe.name);
  if (!needed && options.calibration)
    fail(ErrorKind::bad_input, "the recipe {} takes no calibration: no rule of it has use for one",
         recipe.name);
}

void check(const BuildOptions& options) {
  const int level = options.optimization_level;
  if (level == 2 || level == 4 || level == 5)
    fail(ErrorKind::unsupported,
         "optimization level {} is refused until a measured gain gives it a meaning: use 0, 1 or 3",
         level);
  if (level < 0 || level > 5)
    fail(ErrorKind::bad_input, "optimization level {}: there are 0, 1 and 3", level);
  if (options.max_batch < 1 || options.max_batch > kMaxBatch)
    fail(ErrorKind::bad_input, "max batch {}: expected 1 ... {}", options.max_batch, kMaxBatch);
}

/// The configuration's transform at the size that was asked for.
image::Transform transform_for(const checkpoint::ModelConfig& config, const BuildOptions& options) {
  image::Transform transform = config.transform;
  const std::int64_t height = options.input_height;
  const std::int64_t width = options.input_width;
  if (height != 0 || width != 0) {
    if (height < 1 || width < 1 || height > image::kMaxInputSide || width > image::kMaxInputSide)
      fail(ErrorKind::bad_input, "input size {} x {}: expected two numbers in 1 ... {}", height,
           width, image::kMaxInputSide);
    const bool same = height == transform.input_height && width == transform.input_width;
    if (config.fixed_input_size && !same)
      fail(ErrorKind::unsupported,
           "{} takes {} x {} pixels and nothing else (its configuration says fixed_input_size): "
           "input size {} x {} is refused",
           config.architecture, transform.input_height, transform.input_width, height, width);
    transform.input_height = static_cast<int>(height);
    transform.input_width = static_cast<int>(width);
  }
  if (const std::string problem = image::problem_of(transform); !problem.empty())
    fail(ErrorKind::bad_input, "{}: {}", config.architecture, problem);
  return transform;
}

/// What every precision begins with: each constant as F32, whatever the checkpoint stored.
void store_as_f32(graph::Graph& graph) {
  for (graph::Value& value : graph.values)
    if (value.constant && value.constant->dtype != DType::f32)
      value.constant = graph::make_constant(graph::to_f32(*value.constant));
}

std::string family_of(const std::string& architecture) {
  for (const families::Family& family : families::all())
    for (const std::string_view name : family.architectures)
      if (name == architecture) return std::string(family.name);
  fail(ErrorKind::internal, "{} was built, but no family names it", architecture);
}

/// Where the weights came from: the file, or the index of its shards, as a path.
std::string weights_of(const checkpoint::Checkpoint& checkpoint) {
  constexpr std::size_t kWeights = 1;  // behind config.json
  const bool known = checkpoint.files.size() > kWeights;
  return (known ? checkpoint.folder / checkpoint.files[kWeights].name : checkpoint.folder).string();
}

/// Calls `step`; what it throws gets `file` in front.
template <typename Step>
auto naming(const std::string& file, const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", file, error.what());
  }
}

/// The network as the checkpoint has it, every weight finite.
graph::Graph network(const checkpoint::Checkpoint& checkpoint, const image::Transform& transform) {
  graph::Graph graph = naming(checkpoint.folder.string(), [&] {
    return families::build(
        {checkpoint.config, checkpoint.weights, transform.input_height, transform.input_width});
  });
  naming(weights_of(checkpoint), [&] { check_stored(graph); });
  return graph;
}

}  // namespace

quant::Recipe recipe_of(const BuildOptions& options) {
  const std::string wanted = options.precision.empty() ? "fp32" : options.precision;
  const auto precision = graph::precision_from_name(wanted);
  if (!precision) {
    std::vector<std::string_view> names;
    for (const graph::Precision known : graph::kPrecisions) names.push_back(graph::name(known));
    fail(ErrorKind::unsupported, "precision \"{}\": this build of Assay makes bundles of {}",
         wanted, fmt::join(names, ", "));
  }
  if (!options.recipe) return quant::default_recipe(*precision);
  if (!options.precision.empty() && options.recipe->precision != *precision)
    fail(ErrorKind::bad_input, "precision {} and the recipe {}, which makes {}: leave one out",
         options.precision, options.recipe->name, graph::name(options.recipe->precision));
  return *options.recipe;
}

Bundle build(const checkpoint::Checkpoint& checkpoint, const BuildOptions& options) {
  check(options);
  const quant::Recipe recipe = recipe_of(options);
  check_calibration(recipe, options);
  const checkpoint::ModelConfig& config = checkpoint.config;
  Bundle bundle;
  bundle.transform = transform_for(config, options);
  graph::Graph graph = network(checkpoint, bundle.transform);
  graph::optimize(graph, options.optimization_level);
  store_as_f32(graph);
  naming(weights_of(checkpoint), [&] { check_folded(graph); });
  graph::verify(graph);
  bundle.graph = std::make_shared<const graph::Graph>(
      quant::quantize(graph, recipe, options.calibration ? &*options.calibration : nullptr).graph);
  bundle.labels = config.labels;
  bundle.precision = graph::name(recipe.precision);
  bundle.optimization_level = options.optimization_level;
  bundle.max_batch = options.max_batch;
  bundle.provenance = {config.architecture, family_of(config.architecture),
                       checkpoint.files,    checkpoint.revision.value_or(""),
                       config.text,         fmt::format("assay {}", version()),
                       std::nullopt};
  if (options.calibration) bundle.provenance.calibration = options.calibration->source;
  if (options.recipe || recipe.precision != graph::Precision::fp32)
    bundle.provenance.recipe = recipe;
  return bundle;
}

}  // namespace assay::bundle
