#include "study/report_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "study/html.h"
#include "study/report_findings.h"
#include "study/report_text.h"

namespace assay::study {
namespace {

bool ships(const Variant& variant) { return variant.verdict.ship && !is_baseline(variant); }

std::string speed_text(const Variant& variant) {
  const SpeedRow* speed = headline_speed(variant);
  return speed != nullptr && speed->ratio_to_fp32 ? times(speed->ratio_to_fp32->value)
                                                  : "not timed";
}

/// A mark and a word, then the three figures that decide.
std::string card(const Model& model, const Variant& variant) {
  return fmt::format(
      "<li><span class=\"verdict\">✓ Ship</span><code>{}</code><dl>"
      "<div><dt>same answer as {}</dt><dd>{}</dd></div>"
      "<div><dt>speed against fp32</dt><dd>{}</dd></div>"
      "<div><dt>file size</dt><dd>{}</dd></div></dl><p>{}</p></li>\n",
      escape(variant.name), reference_name(model), percent(variant.quality.agreement_fp32.value),
      speed_text(variant), megabytes(variant.size.bundle_bytes), html(verdict_text(variant)));
}

std::string others(const Model& model) {
  HtmlTable table("The others", {"Variant", "Decision", "Same answer as " + reference_name(model),
                                 "Speed against fp32", "File size", "Why"});
  for (const Variant& variant : model.variants) {
    if (ships(variant)) continue;
    const char* decision = is_baseline(variant) ? "<span class=\"plain\">baseline</span>"
                                                : "<span class=\"no\">✗ do not ship</span>";
    table.row({{"<code>" + escape(variant.name) + "</code>"},
               {decision},
               {percent(variant.quality.agreement_fp32.value), true},
               {speed_text(variant), true},
               {megabytes(variant.size.bundle_bytes), true},
               {html(verdict_text(variant)), false, 1, true}});
  }
  return table.text();
}

std::string answer_of(const Model& model) {
  if (model.variants.empty()) return "";
  std::string text = fmt::format("<h3><code>{}</code></h3>\n", escape(model.name));
  if (std::ranges::any_of(model.variants, ships)) {
    text += "<ul class=\"cards\">\n";
    for (const Variant& variant : model.variants) {
      if (ships(variant)) text += card(model, variant);
    }
    text += "</ul>\n";
  }
  return text + others(model);
}

}  // namespace

std::string report_answer(const Study& study) {
  std::string text = "<section id=\"answer\"><h2>The answer</h2>\n<ul class=\"decisions\">\n";
  for (const std::string& line : decisions(study)) text += "<li>" + html(line) + "</li>\n";
  text += "</ul>\n<p>" + html(thresholds_text(study)) + "</p>\n";
  for (const Model& model : study.models) text += answer_of(model);
  return text + "</section>\n";
}

}  // namespace assay::study
