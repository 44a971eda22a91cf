#pragma once
/// The fields of study.json, described once: a SchemaReader fills the structs by it and a
/// SchemaWriter writes them. `fields(...)` is a field that must be there, `fields.optional(...)`
/// one that may be null, `fields.require(...)` what holds of it besides its type.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "study/schema.h"

namespace assay::study {

/// T is U, const or not: a writer visits const structs.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

inline bool is_share(double value) { return value >= 0 && value <= 1; }
inline bool is_share(const Interval& value) { return is_share(value.low) && is_share(value.high); }
inline bool is_share(const Estimate& value) {
  return is_share(value.value) && is_share(value.interval);
}
inline bool is_positive(double value) { return std::isfinite(value) && value > 0; }
inline bool is_count(double value) { return std::isfinite(value) && value >= 0; }

inline bool is_thumbnail(std::string_view text) {
  constexpr std::string_view kStart = "data:image/png;base64,";
  return text.empty() ||
         (text.starts_with(kStart) && std::ranges::all_of(text.substr(kStart.size()), [](char c) {
            return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                   c == '+' || c == '/' || c == '=';
          }));
}

void visit(auto& fields, Is<Estimate> auto& estimate) {
  fields("value", estimate.value);
  fields("interval", estimate.interval);
}

void visit(auto& fields, Is<SpecText> auto& spec) {
  fields("text", spec.text);
  fields("sha256", spec.sha256);
  fields.optional("folder", spec.folder);
}

void visit(auto& fields, Is<Machine> auto& machine) {
  fields("cpu_model", machine.cpu_model);
  fields("isa", machine.isa);
  fields("cores", machine.cores);
  fields("threads", machine.threads);
  fields("memory_gb", machine.memory_gb);
  fields.require(is_count(machine.memory_gb), "memory_gb", "a finite number, 0 or more");
  fields("os", machine.os);
  fields("compiler", machine.compiler);
  fields.optional("load_at_start", machine.load_at_start);
  fields.require(machine.load_at_start.empty() || machine.load_at_start.size() == 3,
                 "load_at_start", "the load of 1, 5 and 15 minutes");
}

void visit(auto& fields, Is<Selection> auto& selection) {
  fields("stride", selection.stride);
  fields.require(selection.stride >= 1, "stride", "1 or more");
  fields("offset", selection.offset);
  fields("limit", selection.limit);
  fields("count", selection.count);
  fields("excluded", selection.excluded);
}

void visit(auto& fields, Is<Data> auto& data) {
  fields("path", data.path);
  fields("sha256", data.sha256);
  fields("samples", data.samples);
  fields("calibration", data.calibration);
  fields("held_out", data.held_out);
  fields("disjoint", data.disjoint);
  fields("ablation_images", data.ablation_images);
  fields.optional("classes", data.classes);
}

void visit(auto& fields, Is<Reference> auto& reference) {
  fields("kind", reference.kind);
  fields.require(reference.kind == "cpu fp32" || reference.kind == "file", "kind",
                 "\"cpu fp32\" or \"file\"");
  fields.optional("file", reference.file);
  fields.optional("sha256", reference.sha256);
  fields.optional("top1", reference.top1);
  fields.require(!reference.top1 || is_share(*reference.top1), "top1", "shares from 0 to 1");
}

void visit(auto& fields, Is<CalibrationFile> auto& calibration) {
  fields("file", calibration.file);
  fields("images", calibration.images);
  fields("observers", calibration.observers);
}

void visit(auto& fields, Is<Size> auto& size) {
  fields("bundle_bytes", size.bundle_bytes);
  fields("weight_bytes", size.weight_bytes);
}

void visit(auto& fields, Is<Steps> auto& steps) {
  fields("count", steps.count);
  fields("conversions", steps.conversions);
}

void visit(auto& fields, Is<MultiplyAdds> auto& work) {
  fields("total", work.total);
  fields.require(is_count(work.total), "total", "a finite number, 0 or more");
  fields("by_precision", work.by_precision);
  fields("share", work.share);
  const bool consistent = std::ranges::all_of(work.by_precision, [&](const auto& part) {
    const auto share = work.share.find(part.first);
    return is_count(part.second) && share != work.share.end() &&
           std::abs(share->second * work.total - part.second) <= 1e-9 * work.total;
  });
  fields.require(consistent && work.share.size() == work.by_precision.size(), "share",
                 "each precision's part of the total");
}

void visit(auto& fields, Is<Layer> auto& layer) {
  fields("layer", layer.layer);
  fields("role", layer.role);
  fields("precision", layer.precision);
  fields("reason", layer.reason);
  fields("multiply_adds", layer.multiply_adds);
  fields.require(is_count(layer.multiply_adds), "multiply_adds", "a finite number, 0 or more");
}

void visit(auto& fields, Is<McNemar> auto& test) {
  fields("lost", test.lost);
  fields("gained", test.gained);
  fields("p_value", test.p_value);
  fields.require(is_share(test.p_value), "p_value", "from 0 to 1");
}

void visit(auto& fields, Is<Quality> auto& quality) {
  fields("images", quality.images);
  fields.require(quality.images >= 1, "images", "1 or more");
  fields("top1", quality.top1);
  fields.require(is_share(quality.top1), "top1", "a share from 0 to 1");
  fields("top1_interval", quality.top1_interval);
  fields.require(is_share(quality.top1_interval), "top1_interval", "shares from 0 to 1");
  fields("top5", quality.top5);
  fields.require(is_share(quality.top5), "top5", "a share from 0 to 1");
  fields("top5_interval", quality.top5_interval);
  fields.require(is_share(quality.top5_interval), "top5_interval", "shares from 0 to 1");
  fields("agreement_fp32", quality.agreement_fp32);
  fields.require(is_share(quality.agreement_fp32), "agreement_fp32", "shares from 0 to 1");
  fields.optional("agreement_fp16", quality.agreement_fp16);
  fields.require(!quality.agreement_fp16 || is_share(*quality.agreement_fp16), "agreement_fp16",
                 "shares from 0 to 1");
  fields("sqnr_db", quality.sqnr_db);
  fields("kl", quality.kl);
  fields("mcnemar", quality.mcnemar);
  fields("max_abs_diff", quality.max_abs_diff);
  fields("mean_abs_diff", quality.mean_abs_diff);
}

void visit(auto& fields, Is<ChangedImage> auto& changed) {
  fields("image", changed.image);
  fields.optional("label", changed.label);
  fields("reference", changed.reference);
  fields("variant", changed.variant);
  fields("reference_margin", changed.reference_margin);
  fields.optional("thumbnail", changed.thumbnail);
  fields.require(is_thumbnail(changed.thumbnail), "thumbnail", "a PNG as a base64 data URI");
}

void visit(auto& fields, Is<SpeedRow> auto& row) {
  fields("batch", row.batch);
  fields.require(row.batch >= 1, "batch", "1 or more");
  fields("boundary", row.boundary);
  fields.require(row.boundary == "device" || row.boundary == "call" || row.boundary == "end_to_end",
                 "boundary", "\"device\", \"call\" or \"end_to_end\"");
  fields("median_ms", row.median_ms);
  fields.require(is_positive(row.median_ms), "median_ms", "a finite number above 0");
  fields("interval_ms", row.interval_ms);
  fields.require(is_positive(row.interval_ms.low) && is_positive(row.interval_ms.high),
                 "interval_ms", "finite numbers above 0");
  fields.optional("ratio_to_fp32", row.ratio_to_fp32);
  fields.require(!row.ratio_to_fp32 || (is_positive(row.ratio_to_fp32->value) &&
                                        is_positive(row.ratio_to_fp32->interval.low) &&
                                        is_positive(row.ratio_to_fp32->interval.high)),
                 "ratio_to_fp32", "finite numbers above 0");
  fields("samples_ms", row.samples_ms);
  fields.require(!row.samples_ms.empty() && std::ranges::all_of(row.samples_ms, is_positive),
                 "samples_ms", "one finite number above 0 or more");
}

void visit(auto& fields, Is<Speed> auto& speed) { fields("batch", speed.batch); }

void visit(auto& fields, Is<StressInput> auto& input) {
  fields("name", input.name);
  fields("finite", input.finite);
  fields("max_abs_logit", input.max_abs_logit);
}

void visit(auto& fields, Is<LayerRange> auto& range) {
  fields("layer", range.layer);
  fields("largest", range.largest);
  fields("format", range.format);
  fields("format_max", range.format_max);
  fields.require(is_positive(range.format_max), "format_max", "a finite number above 0");
  fields("share", range.share);
}

void visit(auto& fields, Is<NonFinite> auto& scan) {
  fields("held_out", scan.held_out);
  fields("stress", scan.stress);
  fields("layers", scan.layers);
}

void visit(auto& fields, Is<Verdict> auto& verdict) {
  fields("ship", verdict.ship);
  fields("reasons", verdict.reasons);
  fields("failed", verdict.failed);
  fields.require(!verdict.ship || verdict.failed.empty(), "failed", "empty for what is to ship");
}

void visit(auto& fields, Is<Variant> auto& variant) {
  fields("name", variant.name);
  fields("precision", variant.precision);
  fields.optional("recipe", variant.recipe);
  fields.optional("recipe_file", variant.recipe_file);
  fields("backend", variant.backend);
  fields("threads", variant.threads);
  fields("level", variant.level);
  fields.optional("emulated", variant.emulated);
  fields("plan", variant.plan);
  fields("size", variant.size);
  fields("steps", variant.steps);
  fields("multiply_adds", variant.multiply_adds);
  fields.optional("layers", variant.layers);
  fields("quality", variant.quality);
  fields.optional("changed", variant.changed);
  fields("changed_count", variant.changed_count);
  fields.require(variant.changed_count >= variant.changed.size(), "changed_count",
                 "at least the number of images listed");
  fields.optional("speed", variant.speed);
  fields.optional("speed_reason", variant.speed_reason);
  fields.require(!variant.speed.empty() || !variant.speed_reason.empty(), "speed_reason",
                 "why there is no speed");
  fields.optional("nonfinite", variant.nonfinite);
  fields("verdict", variant.verdict);
}

/// An error's figures stand among the fields of what has it.
void visit_error(auto& fields, Is<LogitError> auto& error) {
  fields("sqnr_db", error.sqnr_db);
  fields("agreement", error.agreement);
  fields.require(is_share(error.agreement), "agreement", "a share from 0 to 1");
  fields("kl", error.kl);
}

void visit(auto& fields, Is<Ablation> auto& ablation) {
  fields("variant", ablation.variant);
  fields("images", ablation.images);
  fields("kind", ablation.kind);
  fields.require(
      ablation.kind == "weights" || ablation.kind == "activations" || ablation.kind == "both",
      "kind", "\"weights\", \"activations\" or \"both\"");
  visit_error(fields, ablation.error);
}

void visit(auto& fields, Is<Calibrator> auto& calibrator) {
  fields("variant", calibrator.variant);
  fields("observer", calibrator.observer);
  fields("images", calibrator.images);
  visit_error(fields, calibrator.error);
}

void visit(auto& fields, Is<LayerSensitivity> auto& layer) {
  fields("variant", layer.variant);
  fields("layer", layer.layer);
  fields("role", layer.role);
  fields("images", layer.images);
  visit_error(fields, layer.error);
  fields("multiply_adds", layer.multiply_adds);
  fields.require(is_count(layer.multiply_adds), "multiply_adds", "a finite number, 0 or more");
}

void visit(auto& fields, Is<SearchStep> auto& step) {
  fields("layer", step.layer);
  fields("change", step.change);
  fields("sqnr_db", step.sqnr_db);
}

void visit(auto& fields, Is<Search> auto& search) {
  fields("variant", search.variant);
  fields("budget_db", search.budget_db);
  fields("images", search.images);
  fields("steps", search.steps);
}

void visit(auto& fields, Is<Model> auto& model) {
  fields("name", model.name);
  fields("architecture", model.architecture);
  fields("checkpoint", model.checkpoint);
  fields("checkpoint_sha256", model.checkpoint_sha256);
  fields("reference", model.reference);
  fields.optional("calibration", model.calibration);
  fields("variants", model.variants);
  fields.optional("ablations", model.ablations);
  fields.optional("calibrators", model.calibrators);
  fields.optional("sensitivity", model.sensitivity);
  fields.optional("searches", model.searches);
}

void visit(auto& fields, Is<Measuring> auto& measuring) {
  fields("clock", measuring.clock);
  fields("synchronization", measuring.synchronization);
  fields("warm_up", measuring.warm_up);
  fields("rounds", measuring.rounds);
  fields("calls", measuring.calls);
  fields("boundaries", measuring.boundaries);
}

void visit(auto& fields, Is<Study> auto& study) {
  fields("name", study.name);
  fields("title", study.title);
  fields("question", study.question);
  fields("created", study.created);
  fields("assay", study.assay);
  fields.optional("git", study.git);
  fields("spec", study.spec);
  fields("machine", study.machine);
  fields("data", study.data);
  fields("thresholds", study.thresholds);
  fields("models", study.models);
  fields("measuring", study.measuring);
  fields("not_measured", study.not_measured);
  fields("hypotheses", study.hypotheses);
  fields("revisit", study.revisit);
}

}  // namespace assay::study
