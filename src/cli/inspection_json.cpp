#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/inspection.h"
#include "quant/quant.h"

namespace assay::cli {
namespace {

Json transform_json(const image::Transform& transform) {
  return {{"interpolation", image::name(transform.interpolation)},
          {"crop_mode", image::name(transform.crop_mode)},
          {"crop_pct", transform.crop_pct},
          {"mean", transform.mean},
          {"std", transform.std}};
}

Json provenance_json(const bundle::Provenance& provenance) {
  Json files = Json::array();
  for (const checkpoint::SourceFile& file : provenance.files) {
    files.push_back({{"name", file.name}, {"bytes", file.size}, {"sha256", file.sha256}});
  }
  Json json{{"files", files},
            {"revision", provenance.revision.empty() ? Json() : Json(provenance.revision)},
            {"tool_version", provenance.tool_version}};
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
                      {"description", provenance.recipe->description},
                      {"toml", quant::to_toml(*provenance.recipe)}};
  }
  return json;
}

Json sections_json(std::span<const bundle::SectionInfo> sections) {
  Json list = Json::array();
  for (const bundle::SectionInfo& section : sections) {
    list.push_back({{"name", section.name},
                    {"dtype", name(section.dtype)},
                    {"dims", section.dims},
                    {"offset", section.offset},
                    {"bytes", section.size},
                    {"xxh3", fmt::format("{:016x}", section.checksum)}});
  }
  return list;
}

Json layers_json(const InspectOptions& options, const Inspection& inspection) {
  Json list = Json::array();
  const auto steps = inspection.plan->steps();
  const std::vector<std::string> precisions = step_precisions(inspection);
  std::vector<std::optional<double>> shares;
  if (options.profile) shares = shares_of_peak(inspection);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Json step{{"name", steps[i].name},
              {"operation", steps[i].operation},
              {"precision", precisions[i]},
              {"tactic", steps[i].tactic},
              {"output", steps[i].output},
              {"flops", steps[i].flops},
              {"weight_bytes", steps[i].weight_bytes}};
    if (options.profile) {
      step["median_seconds"] = inspection.step_seconds[i];
      step["share_of_peak"] = shares[i] ? Json(*shares[i]) : Json();
    }
    list.push_back(std::move(step));
  }
  return list;
}

}  // namespace

Json to_json(const InspectOptions& options, const Inspection& inspection) {
  const bundle::Description& description = inspection.description;
  const bundle::Bundle& bundle = description.bundle;
  Json json{{"path", options.path},
            {"architecture", bundle.provenance.architecture},
            {"family", bundle.provenance.family},
            {"precision", bundle.precision},
            {"optimization_level", bundle.optimization_level},
            {"tuned_here", bundle::tuning_here(bundle, options.target.threads) != nullptr},
            {"max_batch", bundle.max_batch},
            {"input", {bundle.transform.input_height, bundle.transform.input_width}},
            {"transform", transform_json(bundle.transform)},
            {"labels", bundle.labels},
            {"parameters", description.parameters},
            {"flops", total_flops(*inspection.plan)},
            {"weight_bytes", description.weight_bytes},
            {"plan", inspection.plan->description()},
            {"arena_bytes", inspection.plan->arena_bytes()},
            {"provenance", provenance_json(bundle.provenance)}};
  if (description.format_version != 0) {
    json["format_version"] = description.format_version;
    json["file_bytes"] = description.file_bytes;
    json["header_bytes"] = description.header_bytes;
    json["sections"] = sections_json(description.sections);
  }
  if (options.layers || options.profile) json["layers"] = layers_json(options, inspection);
  if (options.profile) {
    json["profile_runs"] = inspection.profile_runs;
    json["peak_gflops"] = inspection.peaks;
  }
  return json;
}

}  // namespace assay::cli
