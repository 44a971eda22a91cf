
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

graph::Precision precision_of(const BuildOptions& options) {
  const auto precision = graph::precision_from_name(options.precision);
  if (!precision)
    fail(ErrorKind::unsupported,
         "precision \"{}\": this build of Assay makes fp32, bf16 and int8 bundles",
         options.precision);
  if (*precision == graph::Precision::int8 && !options.calibration)
    fail(ErrorKind::bad_input,
         "precision int8 needs a calibration: 'assay calibrate' makes one from the fp32 bundle and "
         "images");
  if (*precision != graph::Precision::int8 && options.calibration)
    fail(ErrorKind::bad_input, "precision {} takes no calibration: that is for int8",
         options.precision);
  return *precision;
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

Bundle build(const checkpoint::Checkpoint& checkpoint, const BuildOptions& options) {
  check(options);
  const graph::Precision precision = precision_of(options);
  const checkpoint::ModelConfig& config = checkpoint.config;
  Bundle bundle;
  bundle.transform = transform_for(config, options);
  graph::Graph graph = network(checkpoint, bundle.transform);
  graph::optimize(graph, options.optimization_level);
  store_as_f32(graph);
  naming(weights_of(checkpoint), [&] { check_folded(graph); });
  graph::verify(graph);
  bundle.graph = std::make_shared<const graph::Graph>(
      quant::quantize(graph, precision, options.calibration ? &*options.calibration : nullptr));
  bundle.labels = config.labels;
  bundle.precision = options.precision;
  bundle.optimization_level = options.optimization_level;
  bundle.max_batch = options.max_batch;
  bundle.provenance = {config.architecture, family_of(config.architecture),
                       checkpoint.files,    checkpoint.revision.value_or(""),
                       config.text,         fmt::format("assay {}", version()),
                       std::nullopt};
  if (options.calibration) bundle.provenance.calibration = options.calibration->source;
  return bundle;
}

}  // namespace assay::bundle
