#include "study/readme_results.h"

#include <algorithm>

#include "study/readme_table.h"
#include "study/report_findings.h"
#include "study/report_text.h"

namespace assay::study {
namespace {

constexpr std::size_t kWorstLayers = 10;
constexpr std::size_t kWorstImages = 5;

std::string with(const std::string& value, const std::string& interval) {
  return value == interval ? value : value + " (" + interval + ")";
}

std::string quality_table(const Model& model) {
  MarkdownTable table({"variant", ">images", ">top-1", ">top-5",
                       ">agreement with " + reference_name(model), ">agreement with fp16", ">SQNR",
                       ">KL", ">lost", ">gained", ">McNemar p"});
  for (const Variant& variant : model.variants) {
    const Quality& quality = variant.quality;
    const auto& half = quality.agreement_fp16;
    table.row(
        {code(variant.name), count(quality.images),
         with(percent(quality.top1), percent(quality.top1_interval)),
         with(percent(quality.top5), percent(quality.top5_interval)),
         with(percent(quality.agreement_fp32.value), percent(quality.agreement_fp32.interval)),
         half ? with(percent(half->value), percent(half->interval)) : "not compared",
         with(decibels(quality.sqnr_db.value), decibels(quality.sqnr_db.interval)),
         with(figure(quality.kl.value),
              figure(quality.kl.interval.low) + "–" + figure(quality.kl.interval.high)),
         count(quality.mcnemar.lost), count(quality.mcnemar.gained),
         figure(quality.mcnemar.p_value)});
  }
  return table.text("No variant was measured.");
}

std::string speed_table(const Model& model) {
  MarkdownTable table({"variant", "boundary", ">batch", ">median", ">interval", ">against fp32"});
  for (const Variant& variant : model.variants) {
    for (const SpeedRow& row : variant.speed.batch) {
      const auto& ratio = row.ratio_to_fp32;
      table.row({code(variant.name), boundary_name(row.boundary), count(row.batch),
                 milliseconds(row.median_ms), milliseconds(row.interval_ms),
                 ratio ? with(times(ratio->value), times(ratio->interval)) : "–"});
    }
    if (variant.speed.empty()) {
      table.row(
          {code(variant.name), "not timed: " + plain(variant.speed_reason), "–", "–", "–", "–"});
    }
  }
  return table.text("No variant was timed.");
}

std::string size_table(const Model& model) {
  MarkdownTable table(
      {"variant", ">bundle", ">weights", ">steps", ">conversions", ">multiply-adds", "of them in"});
  for (const Variant& variant : model.variants) {
    std::vector<std::string> shares;
    for (const auto& [precision, share] : variant.multiply_adds.share) {
      shares.push_back(plain(precision) + " " + percent(share));
    }
    table.row({code(variant.name), megabytes(variant.size.bundle_bytes),
               megabytes(variant.size.weight_bytes), count(variant.steps.count),
               count(variant.steps.conversions), millions(variant.multiply_adds.total),
               listed(shares)});
  }
  return table.text("No variant was built.");
}

std::string nonfinite_table(const Model& model) {
  MarkdownTable table({"variant", "scan", "nearest to the end of its format", ">largest",
                       ">format's largest", ">part of it"});
  for (const Variant& variant : model.variants) {
    const LayerRange* nearest = nullptr;
    if (variant.nonfinite && !variant.nonfinite->layers.empty()) {
      nearest = &*std::ranges::max_element(variant.nonfinite->layers, {}, &LayerRange::share);
    }
    if (nearest == nullptr) {
      table.row({code(variant.name), nonfinite_text(variant), "not recorded", "–", "–", "–"});
    } else {
      table.row({code(variant.name), nonfinite_text(variant),
                 code(nearest->layer) + " (" + plain(nearest->format) + ")",
                 figure(nearest->largest), figure(nearest->format_max), percent(nearest->share)});
    }
  }
  return table.text("No variant was scanned.");
}

std::string ablation_table(const Model& model) {
  MarkdownTable table({"variant", "rounded", ">images", ">SQNR",
                       ">agreement with " + reference_name(model), ">KL"});
  for (const Ablation& ablation : model.ablations) {
    table.row({code(ablation.variant), ablation.kind, count(ablation.images),
               decibels(ablation.error.sqnr_db), percent(ablation.error.agreement),
               figure(ablation.error.kl)});
  }
  return table.text("No ablation was run.");
}

std::string calibrator_table(const Model& model) {
  MarkdownTable table({"variant", "observer", ">images", ">SQNR",
                       ">agreement with " + reference_name(model), ">KL"});
  for (const Calibrator& calibrator : model.calibrators) {
    table.row({code(calibrator.variant), code(calibrator.observer), count(calibrator.images),
               decibels(calibrator.error.sqnr_db), percent(calibrator.error.agreement),
               figure(calibrator.error.kl)});
  }
  return table.text("No other calibrator was tried.");
}

std::string sensitivity_table(const Model& model) {
  MarkdownTable table({"variant", "layer", "role", ">images", ">SQNR",
                       ">agreement with " + reference_name(model), ">multiply-adds"});
  for (const Variant& variant : model.variants) {
    for (const LayerSensitivity* layer : worst_layers(model, variant.name, kWorstLayers)) {
      table.row({code(variant.name), code(layer->layer), plain(layer->role), count(layer->images),
                 decibels(layer->error.sqnr_db), percent(layer->error.agreement),
                 millions(layer->multiply_adds)});
    }
  }
  return table.text("No layer was measured by itself.");
}

std::string search_table(const Model& model) {
  MarkdownTable table({"variant", "layer", "change", ">SQNR after it"});
  std::string lines;
  for (const Search& search : model.searches) {
    lines += markdown(code(search.variant) + ": the search had a budget of " +
                      decibels(search.budget_db) + " and measured on " + count(search.images) +
                      " images.") +
             "\n\n";
    for (const SearchStep& step : search.steps) {
      table.row({code(search.variant), step.layer.empty() ? kWholeNetwork : code(step.layer),
                 plain(step.change), decibels(step.sqnr_db)});
    }
  }
  return lines + table.text(lines.empty() ? "" : "The search took no step.");
}

std::string changed_table(const Study& study, const Model& model) {
  MarkdownTable table({"variant", ">changed in all", ">image", "label", "reference says",
                       "variant says", ">reference's margin"});
  for (const Variant& variant : model.variants) {
    const std::size_t shown = std::min(variant.changed.size(), kWorstImages);
    for (const ChangedImage& changed : std::span(variant.changed).first(shown)) {
      table.row({code(variant.name), count(variant.changed_count), count(changed.image),
                 changed.label ? code(class_name(study, *changed.label)) : "none",
                 code(class_name(study, changed.reference)),
                 code(class_name(study, changed.variant)), figure(changed.reference_margin)});
    }
  }
  return table.text("No image changed its class, or none was listed.");
}

}  // namespace

std::string readme_results(const Study& study, const Model& model) {
  std::string text = "### " + markdown(code(model.name)) + "\n\n";
  text += markdown(code(model.architecture) + " from " + code(model.checkpoint) + " (SHA-256 " +
                   code(model.checkpoint_sha256) + "). ");
  if (model.reference.kind == "file") {
    text += markdown("The reference is another program's logits: " + code(model.reference.file) +
                     " (SHA-256 " + code(model.reference.sha256) +
                     "). Speed is compared with the fp32 build.");
  } else {
    text += "The reference is the fp32 build on the cpu backend.";
  }
  if (const auto& top1 = model.reference.top1) {
    text += " The reference's own top-1: " + percent(top1->value) + " (" + percent(top1->interval) +
            ").";
  }
  text += "\n\n#### Quality\n\n" + quality_table(model);
  text += "#### Speed\n\n" + speed_table(model);
  text += "#### Size and steps\n\n" + size_table(model);
  text += "#### Non-finite scan\n\n" + nonfinite_table(model);
  text += "#### Ablations\n\n" + ablation_table(model);
  text += "#### Calibrators\n\n" + calibrator_table(model);
  text += "#### Sensitivity, the ten worst layers\n\n" + sensitivity_table(model);
  if (!model.searches.empty()) text += "#### Search\n\n" + search_table(model);
  text += "#### Images that changed, the worst five\n\n" + changed_table(study, model);
  return text;
}

}  // namespace assay::study
