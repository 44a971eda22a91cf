#include <nlohmann/json.hpp>

#include "base/error.h"
#include "bundle/header.h"
#include "bundle/tuning_json.h"
#include "graph/serialize.h"

namespace assay::bundle {
namespace {

Json encode_transform(const image::Transform& transform) {
  return {{"input_height", transform.input_height},
          {"input_width", transform.input_width},
          {"interpolation", image::name(transform.interpolation)},
          {"crop_mode", image::name(transform.crop_mode)},
          {"crop_pct", transform.crop_pct},
          {"mean", transform.mean},
          {"std", transform.std}};
}

Json encode_provenance(const Provenance& provenance) {
  Json files = Json::array();
  for (const checkpoint::SourceFile& file : provenance.files)
    files.push_back({{"name", file.name}, {"size", file.size}, {"sha256", file.sha256}});
  Json json = {{"tool_version", provenance.tool_version},
               {"revision", provenance.revision},
               {"files", std::move(files)},
               {"config", provenance.config_text}};
  if (provenance.calibration) {
    const quant::CalibrationSource& source = *provenance.calibration;
    json["calibration"] = {{"observers", source.observers},
                           {"images", source.images},
                           {"stride", source.stride},
                           {"offset", source.offset},
                           {"limit", source.limit}};
  }
  if (provenance.recipe) {
    json["recipe"] = {{"name", provenance.recipe->name},
                      {"toml", quant::to_toml(*provenance.recipe)}};
  }
  return json;
}

Json encode_sections(std::span<const Section> sections) {
  Json table = Json::array();
  for (const Section& section : sections)
    table.push_back({{"dtype", name(section.dtype)},
                     {"offset", section.offset},
                     {"size", section.size},
                     {"xxh3", fmt::format("{:016x}", section.checksum)}});
  return table;
}

}  // namespace

std::string encode_header(const Bundle& bundle, std::span<const Section> sections) {
  Json features = Json::array();
  if (bundle.precision != "fp32") features.push_back(kPrecisionFeature);
  if (bundle.provenance.recipe) features.push_back(kRecipeFeature);
  if (bundle.optimization_level == 3) features.push_back(kTuningFeature);
  Json header = {{"features", std::move(features)},
                 {"model",
                  {{"architecture", bundle.provenance.architecture},
                   {"family", bundle.provenance.family},
                   {"precision", bundle.precision},
                   {"optimization_level", bundle.optimization_level},
                   {"max_batch", bundle.max_batch}}},
                 {"preprocessing", encode_transform(bundle.transform)},
                 {"labels", bundle.labels},
                 {"provenance", encode_provenance(bundle.provenance)},
                 {"graph", graph::to_json(*bundle.graph)},
                 {"sections", encode_sections(sections)}};
  if (bundle.optimization_level == 3) header["tuning"] = encode_tunings(bundle.tunings);
  try {
    return header.dump();
  } catch (const Json::exception& error) {
    fail(ErrorKind::bad_input, "{}: a label, a name or the configuration is not UTF-8 ({})",
         bundle.provenance.architecture, error.what());
  }
}

}  // namespace assay::bundle
