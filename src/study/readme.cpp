#include "study/readme.h"

#include <algorithm>

#include "study/readme_results.h"
#include "study/readme_table.h"
#include "study/report_findings.h"
#include "study/report_text.h"

namespace assay::study {
namespace {

std::string bullets(const std::vector<std::string>& marked, const std::string& none) {
  std::string text;
  for (const std::string& line : marked) text += "- " + markdown(line) + "\n";
  return (text.empty() ? none + "\n" : text) + "\n";
}

std::vector<std::string> plain_lines(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  for (const std::string& text : texts) lines.push_back(plain(text));
  return lines;
}

std::string head(const Study& study) {
  std::string text =
      "# " + markdown(plain(study.title)) + "\n\n> " + markdown(plain(study.question)) + "\n\n";
  std::string made = "Study " + code(study.name) + ", made on " + code(study.created) +
                     " by Assay " + code(study.assay);
  if (study.git) made += ", commit " + code(*study.git);
  text += markdown(made + ". ");
  return text +
         "Everything here is rendered from [study.json](study.json), which has every figure with "
         "its raw samples; [report.html](report.html) shows the same with charts.\n\n";
}

std::string decision(const Study& study) {
  std::string text = "## Summary and decision\n\n" + bullets(decisions(study), "");
  MarkdownTable table({"model", "variant", "decision", ">agreement with " + reference_name(study),
                       ">SQNR", ">against fp32", ">bundle", "why"});
  for (const Model& model : study.models) {
    for (const Variant& variant : model.variants) {
      const SpeedRow* speed = headline_speed(variant);
      const bool has_ratio = speed != nullptr && speed->ratio_to_fp32;
      table.row({code(model.name), code(variant.name), decision_word(variant),
                 percent(variant.quality.agreement_fp32.value),
                 decibels(variant.quality.sqnr_db.value),
                 has_ratio ? times(speed->ratio_to_fp32->value) : "not timed",
                 megabytes(variant.size.bundle_bytes), verdict_text(variant)});
    }
  }
  text += table.text();
  text += markdown(thresholds_text(study)) + "\n\n";
  return text +
         "Speed is fp32's time over the variant's in the same round, the median of all rounds "
         "(above "
         "one is faster), of a call at the smallest batch where that was timed. SQNR is the power "
         "of the reference's logits over that of the "
         "difference; more is better.\n\n";
}

std::string recipes(const Study& study) {
  MarkdownTable table({"model", "variant", "recipe", "precision", "backend", ">threads", ">level",
                       "emulated", "plan"});
  for (const Model& model : study.models) {
    for (const Variant& variant : model.variants) {
      std::vector<std::string> emulated;
      for (const std::string& format : variant.emulated) emulated.push_back(plain(format));
      std::string recipe = variant.recipe.empty() ? "none" : code(variant.recipe);
      if (!variant.recipe_file.empty()) recipe += " in " + code(variant.recipe_file);
      table.row({code(model.name), code(variant.name), recipe, plain(variant.precision),
                 plain(variant.backend), count(variant.threads), count(variant.level),
                 listed(emulated), plain(variant.plan)});
    }
  }
  std::vector<std::string> calibrations;
  for (const Model& model : study.models) {
    if (!model.calibration) continue;
    std::vector<std::string> observers;
    for (const std::string& observer : model.calibration->observers) {
      observers.push_back(code(observer));
    }
    calibrations.push_back(code(model.name) + ": calibrated on " +
                           count(model.calibration->images) + " images, observers " +
                           listed(observers) + ", kept in " + code(model.calibration->file) + ".");
  }
  return "## Recipe\n\n" + table.text("No variant was built.") +
         bullets(calibrations, "No model was calibrated.");
}

/// Text between fences longer than any run of backticks in it.
std::string fenced(const std::string& text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(std::max<std::size_t>(longest + 1, 3), '`');
  return fence + "toml\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n\n";
}

std::string method(const Study& study) {
  const Machine& machine = study.machine;
  std::string text = "## Method\n\n### Data\n\n" + bullets(selection_text(study), "");
  std::vector<std::string> lines{
      "Processor: " + plain(machine.cpu_model) + " (" + code(machine.isa) + "), " +
          count(machine.cores) + " cores, " + count(machine.threads) + " threads used, " +
          figure(machine.memory_gb) + " GB of memory.",
      "System: " + plain(machine.os) + "; compiler: " + plain(machine.compiler) + "."};
  if (machine.load_at_start.size() == 3) {
    lines.push_back("Load at the start, over one, five and fifteen minutes: " +
                    figure(machine.load_at_start[0]) + ", " + figure(machine.load_at_start[1]) +
                    ", " + figure(machine.load_at_start[2]) + ".");
  }
  text += "### Machine\n\n" + bullets(lines, "");
  const Measuring& measuring = study.measuring;
  std::vector<std::string> timing{
      "Clock: " + sentence(measuring.clock),
      "Synchronization: " + sentence(measuring.synchronization),
      count(measuring.warm_up) + " rounds of warm-up, then " + count(measuring.rounds) +
          " rounds that are kept. Calls a sample: " + count(measuring.calls) +
          ". Each round runs every variant once; each begins with another one."};
  for (const auto& [name, meaning] : measuring.boundaries) {
    timing.push_back("Boundary " + code(boundary_name(name)) + ": " + sentence(meaning));
  }
  text += "### Timing\n\n" + bullets(timing, "");
  text +=
      "Shares have Wilson's 95% interval, SQNR and KL the bootstrap's over images, medians that "
      "of order statistics. McNemar's test asks whether as many images were lost as gained; a "
      "small p says that the accuracies differ.\n\n";
  return text + "### Specification as it was run\n\n" + fenced(study.spec.text);
}

std::string why(const Study& study) {
  std::string text =
      "## Why\n\nA cause is stated only where its own run isolates it; noise power is the inverse "
      "of "
      "SQNR.\n\n";
  for (const Model& model : study.models) {
    text += "### Why: " + markdown(code(model.name)) + "\n\n";
    std::vector<std::string> lines;
    for (const Variant& variant : model.variants) {
      for (std::string& line : causes(model, variant)) lines.push_back(std::move(line));
    }
    text += bullets(lines, "No variant differs from the reference.");
  }
  return text;
}

std::string ends(const Study& study) {
  std::vector<std::string> hypotheses;
  for (const std::string& line : study.hypotheses)
    hypotheses.push_back("Hypothesis: " + plain(line));
  return "## Not measured\n\n" + bullets(plain_lines(study.not_measured), "Nothing was named.") +
         "## Hypotheses\n\nNothing under this heading was measured.\n\n" +
         bullets(hypotheses, "None.") + "## When to revisit\n\n" +
         bullets(plain_lines(study.revisit), "No occasion was named.") +
         "## How to check this\n\n`assay study --verify` on this folder runs calibration, quality "
         "and speed again with the recipes that are kept here, compares their figures, and looks "
         "every number of this page up in study.json. Searches, ablations and the scan are not run "
         "again.\n";
}

}  // namespace

std::string readme(const Study& study) {
  std::string text =
      head(study) + decision(study) + recipes(study) + method(study) + "## Results\n\n";
  for (const Model& model : study.models) text += readme_results(study, model);
  if (study.models.empty()) text += "No model was measured.\n\n";
  return text + why(study) + ends(study);
}

}  // namespace assay::study
