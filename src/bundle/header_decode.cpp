#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "bundle/fields.h"
#include "bundle/header.h"
#include "bundle/tuning_json.h"
#include "graph/serialize.h"
#include "image/limits.h"
#include "quant/quantize.h"

namespace assay::bundle {
namespace {

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

std::uint64_t decode_checksum(const std::string& digits, const std::string& field) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (digits.size() != 16 || digits.find_first_not_of(kHex) != std::string::npos)
    fail(ErrorKind::corrupt, "{} is \"{:.40}\", expected 16 lower-case hexadecimal digits", field,
         digits);
  return std::stoull(digits, nullptr, 16);
}

Section decode_section(const Json& json, std::size_t index) {
  Fields fields(json, fmt::format("header.sections[{}]", index));
  Section section;
  const std::string dtype = fields.text("dtype");
  const auto known = dtype_from_name(dtype);
  if (!known) fail(ErrorKind::corrupt, "{} is \"{:.40}\"", fields.name_of("dtype"), dtype);
  section.dtype = *known;
  section.offset = fields.integer("offset", 0, kAny);
  section.size = fields.integer("size", 0, kAny);
  section.checksum = decode_checksum(fields.text("xxh3"), fields.name_of("xxh3"));
  fields.finish();
  return section;
}

/// Names are looked up by functions that answer for a user's words; in a file a wrong one is
/// damage.
template <typename Lookup>
auto named(Fields& fields, const char* key, const Lookup& lookup) {
  const std::string text = fields.text(key);
  try {
    return lookup(text);
  } catch (const Error& error) {
    fail(ErrorKind::corrupt, "{}: {}", fields.name_of(key), error.what());
  }
}

image::Transform decode_transform(Fields fields) {
  image::Transform transform;
  transform.input_height =
      static_cast<int>(fields.integer("input_height", 1, image::kMaxInputSide));
  transform.input_width = static_cast<int>(fields.integer("input_width", 1, image::kMaxInputSide));
  transform.interpolation = named(fields, "interpolation", image::interpolation_from_name);
  transform.crop_mode = named(fields, "crop_mode", image::crop_mode_from_name);
  transform.crop_pct = fields.number("crop_pct");
  transform.mean = fields.triple("mean");
  transform.std = fields.triple("std");
  if (const std::string problem = image::problem_of(transform); !problem.empty())
    fail(ErrorKind::corrupt, "header.preprocessing: {}", problem);
  fields.finish();
  return transform;
}

std::vector<std::string> decode_texts(Fields& fields, const std::string& key) {
  std::vector<std::string> texts;
  for (const Json& text : fields.array(key)) {
    if (!text.is_string())
      fail(ErrorKind::corrupt, "{} needs to be an array of strings", fields.name_of(key));
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

quant::CalibrationSource decode_calibration(Fields fields) {
  quant::CalibrationSource source;
  // Bundles of earlier versions name the one observer that there was.
  if (fields.has("observer")) {
    source.observers = {fields.text("observer")};
  } else {
    source.observers = decode_texts(fields, "observers");
  }
  source.images = fields.integer("images", 1, kAny);
  source.stride = fields.integer("stride", 1, kAny);
  source.offset = fields.integer("offset", 0, kAny);
  source.limit = fields.integer("limit", 0, kAny);
  if (const std::string problem = quant::problem_of(source); !problem.empty())
    fail(ErrorKind::corrupt, "header.provenance.calibration: {}", problem);
  fields.finish();
  return source;
}

quant::Recipe decode_recipe(Fields fields) {
  const std::string name = fields.text("name");
  const std::string toml = fields.text("toml");
  fields.finish();
  quant::Recipe recipe;
  try {
    recipe = quant::parse_recipe(toml, fields.name_of("toml"));
  } catch (const Error& error) {
    fail(ErrorKind::corrupt, "{}", error.what());
  }
  if (recipe.name != name)
    fail(ErrorKind::corrupt, "{} is \"{:.80}\", but its text says \"{}\"", fields.name_of("name"),
         name, recipe.name);
  return recipe;
}

Provenance decode_provenance(Fields fields) {
  Provenance provenance;
  provenance.tool_version = fields.text("tool_version");
  provenance.revision = fields.text("revision");
  provenance.config_text = fields.text("config");
  const Json& files = fields.array("files");
  for (std::size_t i = 0; i < files.size(); ++i) {
    Fields file(files[i], fmt::format("{}[{}]", fields.name_of("files"), i));
    provenance.files.push_back(
        {file.text("name"), file.integer("size", 0, kAny), file.text("sha256")});
    file.finish();
  }
  if (fields.has("calibration"))
    provenance.calibration = decode_calibration(fields.object("calibration"));
  if (fields.has("recipe")) provenance.recipe = decode_recipe(fields.object("recipe"));
  fields.finish();
  return provenance;
}

void decode_model(Fields fields, Bundle& bundle) {
  bundle.provenance.architecture = fields.text("architecture");
  bundle.provenance.family = fields.text("family");
  bundle.precision = fields.text("precision");
  if (!graph::precision_from_name(bundle.precision))
    fail(
        ErrorKind::unsupported,
        "precision \"{:.40}\", but this build of Assay knows fp32, fp16, bf16, int8, fp8 and nvfp4",
        bundle.precision);
  const auto level = fields.integer("optimization_level", 0, 1000);
  if (level > 1 && level != 3)
    fail(ErrorKind::unsupported,
         "optimization level {}, but this build of Assay knows the levels 0, 1 and 3", level);
  bundle.optimization_level = static_cast<int>(level);
  bundle.max_batch = static_cast<int>(fields.integer("max_batch", 1, kMaxBatch));
  fields.finish();
}

/// The features are those that the rest of the header has need of, in this order.
void check_needed_features(const Json& features, const Bundle& bundle) {
  Json expected = Json::array();
  if (bundle.precision != "fp32") expected.push_back(kPrecisionFeature);
  if (bundle.provenance.recipe) expected.push_back(kRecipeFeature);
  if (bundle.optimization_level == 3) expected.push_back(kTuningFeature);
  if (features != expected)
    fail(ErrorKind::corrupt,
         "header.features is {:.80}, but a bundle of precision {}, {} recipe and level {} has {}",
         features.dump(), bundle.precision, bundle.provenance.recipe ? "with a" : "without a",
         bundle.optimization_level, expected.dump());
}

/// The recipe and the calibration that it needs. Without a recipe there are bundles of fp32, and of
/// the bf16 and int8 that were before there were recipes.
void check_recipe(const Bundle& bundle) {
  const auto& recipe = bundle.provenance.recipe;
  bool calibrated = bundle.precision == "int8";
  if (recipe) {
    if (graph::name(recipe->precision) != bundle.precision)
      fail(ErrorKind::corrupt, "header.provenance.recipe makes {}, but the precision is {}",
           graph::name(recipe->precision), bundle.precision);
    calibrated = quant::needs_calibration(*recipe);
  } else if (bundle.precision != "fp32" && bundle.precision != "bf16" && !calibrated) {
    fail(ErrorKind::corrupt, "header.provenance.recipe is missing, but the precision is {}",
         bundle.precision);
  }
  if (calibrated != bundle.provenance.calibration.has_value())
    fail(ErrorKind::corrupt, "header.provenance.calibration is {}, but the {} {}",
         bundle.provenance.calibration ? "there" : "missing",
         recipe ? "recipe " + recipe->name : "precision " + bundle.precision,
         calibrated ? "needs one" : "takes none");
}

/// No product is in a narrower format than the bundle says.
void check_nodes(const graph::Graph& graph, const Bundle& bundle) {
  const graph::Precision narrowest = *graph::precision_from_name(bundle.precision);
  for (const graph::Node& node : graph.nodes)
    if (node.precision > narrowest)
      fail(ErrorKind::corrupt, "the graph's node \"{:.80}\" is {}, but the precision is {}",
           node.name, graph::name(node.precision), bundle.precision);
}

/// What every user of a bundle relies on and graph::verify can't know.
void check_interface(const graph::Graph& graph, const Bundle& bundle) {
  const graph::Dims input = {bundle.transform.input_height, bundle.transform.input_width, 3};
  if (graph.value(graph.input).dims != input)
    fail(ErrorKind::corrupt, "the graph's input is {}, the preprocessing makes {}",
         graph::to_string(graph.value(graph.input).dims), graph::to_string(input));
  bool logits = false;
  for (const graph::Output& output : graph.outputs) {
    const graph::Dims& dims = graph.value(output.value).dims;
    if (output.name != "logits" && output.name != "features")
      fail(ErrorKind::corrupt, "the graph has an output \"{:.40}\"", output.name);
    if (dims.size() != 1)
      fail(ErrorKind::corrupt, "the graph's output \"{}\" is {}, expected one axis", output.name,
           graph::to_string(dims));
    if (output.name != "logits") continue;
    logits = true;
    if (dims[0] != static_cast<std::int64_t>(bundle.labels.size()))
      fail(ErrorKind::corrupt, "{} labels, but the graph has {} logits", bundle.labels.size(),
           dims[0]);
  }
  if (!logits) fail(ErrorKind::corrupt, "the graph has no output \"logits\"");
}

}  // namespace

void check_features(const Json& header) {
  Fields fields(header, "header");
  for (const Json& feature : fields.array("features")) {
    if (feature == kPrecisionFeature || feature == kRecipeFeature || feature == kTuningFeature)
      continue;
    fail(ErrorKind::unsupported,
         "the bundle needs the feature {:.60}, which this build of Assay does not know: update "
         "Assay, or build the bundle again with this one",
         feature.is_string() ? feature.dump() : feature.type_name());
  }
}

std::vector<Section> decode_sections(const Json& header, std::uint64_t data_bytes) {
  Fields fields(header, "header");
  std::vector<Section> sections;
  std::uint64_t end = 0;
  for (const Json& entry : fields.array("sections")) {
    const Section section = decode_section(entry, sections.size());
    if (section.offset != end)
      fail(ErrorKind::corrupt, "section {} is at offset {}, but the one before it ends at {}",
           sections.size(), section.offset, end);
    if (section.size > data_bytes - end || align(section.size) > data_bytes - end)
      fail(ErrorKind::corrupt, "section {} has {} bytes, but only {} are left in the file",
           sections.size(), section.size, data_bytes - end);
    end += align(section.size);
    sections.push_back(section);
  }
  if (end != data_bytes)
    fail(ErrorKind::corrupt, "the sections end at {} of {} data bytes", end, data_bytes);
  return sections;
}

Bundle decode_header(const Json& header) {
  Fields fields(header, "header");
  Bundle bundle;
  (void)fields.any("sections");
  (void)fields.any("graph");
  bundle.provenance = decode_provenance(fields.object("provenance"));
  decode_model(fields.object("model"), bundle);
  check_needed_features(fields.array("features"), bundle);
  check_recipe(bundle);
  bundle.transform = decode_transform(fields.object("preprocessing"));
  for (const Json& label : fields.array("labels")) {
    if (!label.is_string())
      fail(ErrorKind::corrupt, "header.labels holds {}, expected strings", label.type_name());
    bundle.labels.push_back(label.get<std::string>());
  }
  if (bundle.optimization_level == 3) bundle.tunings = decode_tunings(fields.array("tuning"));
  fields.finish();
  return bundle;
}

graph::Graph decode_graph(const Json& header, const Bundle& bundle,
                          const std::function<graph::Constant(std::size_t)>& constant) {
  graph::Graph graph = graph::from_json(Fields(header, "header").any("graph"), constant);
  check_interface(graph, bundle);
  check_nodes(graph, bundle);
  return graph;
}

}  // namespace assay::bundle
