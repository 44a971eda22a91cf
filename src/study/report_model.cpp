#include "study/report_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "study/html.h"
#include "study/report_charts.h"
#include "study/report_findings.h"
#include "study/report_text.h"

namespace assay::study {
namespace {

HtmlCell number(const std::string& text) { return {escape(text), true}; }
HtmlCell prose(const std::string& text, int span = 1) { return {escape(text), false, span, true}; }
HtmlCell named(const std::string& text) { return {"<code>" + escape(text) + "</code>"}; }

HtmlCell estimate(const std::string& value, const std::string& interval) {
  return value == interval ? number(value) : with_interval(value, interval);
}

std::string quality_table(const Model& model) {
  HtmlTable table("On the held-out images. The small print is the 95% interval.",
                  {"Variant", "Top-1", "Top-5", "Agrees with " + reference_name(model),
                   "Agrees with fp16", "SQNR", "KL", "Lost", "Gained", "McNemar p"});
  for (const Variant& variant : model.variants) {
    const Quality& quality = variant.quality;
    const auto& half = quality.agreement_fp16;
    table.row(
        {named(variant.name), estimate(percent(quality.top1), percent(quality.top1_interval)),
         estimate(percent(quality.top5), percent(quality.top5_interval)),
         estimate(percent(quality.agreement_fp32.value), percent(quality.agreement_fp32.interval)),
         half ? estimate(percent(half->value), percent(half->interval)) : number("–"),
         estimate(decibels(quality.sqnr_db.value), decibels(quality.sqnr_db.interval)),
         number(figure(quality.kl.value)), number(count(quality.mcnemar.lost)),
         number(count(quality.mcnemar.gained)), number(figure(quality.mcnemar.p_value))});
  }
  return table.text();
}

std::string speed_table(const Model& model) {
  HtmlTable table(
      "Median time of a call, and fp32’s time over it. The small print is the 95% interval.",
      {"Variant", "Boundary", "Batch", "Median", "Against fp32"});
  for (const Variant& variant : model.variants) {
    for (const SpeedRow& row : variant.speed.batch) {
      const auto& ratio = row.ratio_to_fp32;
      table.row({named(variant.name),
                 {escape(boundary_name(row.boundary))},
                 number(count(row.batch)),
                 estimate(milliseconds(row.median_ms), milliseconds(row.interval_ms)),
                 ratio ? estimate(times(ratio->value), times(ratio->interval)) : number("–")});
    }
    if (variant.speed.empty()) {
      table.row({named(variant.name), prose("not timed: " + variant.speed_reason, 4)});
    }
  }
  return table.text();
}

std::string build_table(const Model& model) {
  HtmlTable table("How each variant is built",
                  {"Variant", "Recipe", "Bundle", "Weights", "Steps", "Conversions",
                   "Multiply-adds", "Of them in", "Plan"});
  for (const Variant& variant : model.variants) {
    std::string shares;
    for (const auto& [precision, share] : variant.multiply_adds.share) {
      shares += (shares.empty() ? "" : ", ") + precision + " " + percent(share);
    }
    std::string plan = variant.plan;
    if (!variant.emulated.empty()) {
      plan += "; emulated: " + listed(variant.emulated);
    }
    table.row({named(variant.name),
               {escape(variant.recipe.empty() ? "–" : variant.recipe)},
               number(megabytes(variant.size.bundle_bytes)),
               number(megabytes(variant.size.weight_bytes)),
               number(count(variant.steps.count)),
               number(count(variant.steps.conversions)),
               number(millions(variant.multiply_adds.total)),
               prose(shares),
               {escape(plan)}});
  }
  return table.text();
}

std::string worst_table(const Model& model, const Variant& variant) {
  HtmlTable table(
      "The ten layers that cost most by themselves",
      {"Layer", "Role", "SQNR", "Agrees with " + reference_name(model), "Multiply-adds"});
  for (const LayerSensitivity* layer : worst_layers(model, variant.name, 10)) {
    table.row({named(layer->layer),
               {escape(layer->role)},
               number(decibels(layer->error.sqnr_db)),
               number(percent(layer->error.agreement)),
               number(millions(layer->multiply_adds))});
  }
  return table.text();
}

std::string layer_table(const Variant& variant) {
  HtmlTable table("Every product and attention, and why it has its precision",
                  {"Layer", "Role", "Precision", "Reason", "Multiply-adds"});
  for (const Layer& layer : variant.layers) {
    table.row({named(layer.layer),
               {escape(layer.role)},
               {escape(layer.precision)},
               prose(layer.reason),
               number(millions(layer.multiply_adds))});
  }
  return table.text();
}

std::string stress_table(const Variant& variant) {
  HtmlTable table("Made inputs that push a network to its limits",
                  {"Input", "Finite", "Largest logit"});
  if (!variant.nonfinite) return "";
  for (const StressInput& input : variant.nonfinite->stress) {
    table.row({named(input.name),
               {input.finite ? "yes" : "<strong>no</strong>"},
               number(figure(input.max_abs_logit))});
  }
  return table.text();
}

std::string search_table(const Model& model, const Variant& variant) {
  std::string text;
  for (const Search& search : model.searches) {
    if (search.variant != variant.name) continue;
    HtmlTable table(fmt::format("The search, step by step (budget {}, {} images)",
                                decibels(search.budget_db), count(search.images)),
                    {"Layer", "Change", "SQNR after it"});
    for (const SearchStep& step : search.steps) {
      table.row({step.layer.empty() ? HtmlCell{kWholeNetwork} : named(step.layer),
                 prose(step.change), number(decibels(step.sqnr_db))});
    }
    text += table.text();
  }
  return text;
}

std::string changed_image(const Study& study, const Model& model, const ChangedImage& changed) {
  const std::string before = class_name(study, changed.reference);
  const std::string after = class_name(study, changed.variant);
  std::string picture = "<span class=\"nopicture\" aria-hidden=\"true\">?</span>";
  if (!changed.thumbnail.empty()) {
    picture =
        fmt::format("<img src=\"{}\" alt=\"Image {}\" width=\"72\" height=\"72\" loading=\"lazy\">",
                    escape(changed.thumbnail), changed.image);
  }
  std::string label;
  if (changed.label) {
    const std::string right = *changed.label == changed.reference
                                  ? " (" + reference_name(model) + " is right)"
                              : *changed.label == changed.variant ? " (the variant is right)"
                                                                  : " (neither is right)";
    label = "label: " + class_name(study, *changed.label) + right;
  }
  return fmt::format(
      "<li>{}<span>{} → <strong>{}</strong></span><small>{}</small><small>image {}, margin "
      "{}</small>"
      "</li>\n",
      picture, escape(before), escape(after), escape(label), count(changed.image),
      figure(changed.reference_margin));
}

std::string changed_images(const Study& study, const Model& model, const Variant& variant) {
  if (variant.changed_count == 0) return "";
  std::string text = fmt::format(
      "<h4>Images that got another answer</h4><p>{1} of {2} images in all; the clearest cases "
      "first: "
      "those where {0}'s best class led by the widest margin. Before the arrow is {0}'s answer, "
      "behind it this variant's.</p><ul class=\"images\">\n",
      reference_name(model), count(variant.changed_count), count(variant.quality.images));
  for (const ChangedImage& changed : variant.changed) {
    text += changed_image(study, model, changed);
  }
  return text + "</ul>\n";
}

std::string folded(const std::string& title, const std::string& inside) {
  if (inside.empty()) return "";
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", title, inside);
}

/// All that is known of one variant, folded away under its name.
std::string variant_details(const Study& study, const Model& model, const Variant& variant) {
  std::string text;
  for (const std::string& line : causes(model, variant)) text += "<p>" + html(line) + "</p>\n";
  const std::string charts = ablation_chart(model, variant) + calibrator_chart(model, variant) +
                             sensitivity_chart(model, variant) + range_chart(variant);
  if (!charts.empty()) text += "<div class=\"charts\">\n" + charts + "</div>\n";
  text += worst_table(model, variant) + search_table(model, variant);
  text += "<p>Scan for numbers that are not finite: " + html(nonfinite_text(variant)) + ".</p>\n";
  text += changed_images(study, model, variant);
  text += folded("Stress inputs", stress_table(variant));
  text += folded("Layers", layer_table(variant));
  const char* mark = is_baseline(variant)   ? "<span class=\"plain\">baseline</span>"
                     : variant.verdict.ship ? "<span class=\"yes\">✓ ship</span>"
                                            : "<span class=\"no\">✗ do not ship</span>";
  return folded(fmt::format("<code>{}</code> {}", escape(variant.name), mark), text);
}

}  // namespace

std::string anchor(std::size_t model) { return fmt::format("m{}", model); }

std::string report_model(const Study& study, std::size_t index) {
  const Model& model = study.models[index];
  std::string text = fmt::format(
      "<section id=\"{}\"><h2><code>{}</code></h2>\n<p>Architecture <code>{}</code>, from "
      "<code>{}</code>. ",
      anchor(index), escape(model.name), escape(model.architecture), escape(model.checkpoint));
  text += model.reference.kind == "file"
              ? fmt::format(
                    "The reference is another program’s logits, <code>{}</code>. Speed "
                    "is compared with the fp32 build.",
                    escape(model.reference.file))
              : std::string("The reference is the fp32 build on the cpu backend.");
  if (const auto& top1 = model.reference.top1) {
    text += fmt::format(" It has {} of the images right (95% interval {}).", percent(top1->value),
                        percent(top1->interval));
  }
  text += "</p>\n";
  if (model.variants.empty()) return text + "<p>No variant was measured.</p></section>\n";
  text += "<div class=\"charts\">\n" + tradeoff_chart(model) + noise_chart(model) +
          agreement_chart(model) + size_chart(model) + "</div>\n";
  text += "<h3>Quality</h3>\n" + quality_table(model);
  text += "<h3>Speed</h3>\n" + speed_table(model);
  const std::string charts = speed_charts(model);
  if (!charts.empty()) text += "<div class=\"charts\">\n" + charts + "</div>\n";
  text += "<h3>Build and size</h3>\n" + build_table(model);
  text += "<h3>Each variant in detail</h3>\n";
  for (const Variant& variant : model.variants) text += variant_details(study, model, variant);
  return text + "</section>\n";
}

}  // namespace assay::study
