#include <fmt/format.h>

#include "study/compare.h"
#include "study/readme_table.h"
#include "study/report_findings.h"
#include "study/report_text.h"

namespace assay::study {
namespace {

std::string loads(const Machine& machine) {
  return machine.load_at_start.empty() ? "not known" : figure(machine.load_at_start.front());
}

std::string surroundings(const Study& first, const Study& second) {
  MarkdownTable table({"", "first", "second"});
  table.row({"study", code(first.name), code(second.name)});
  table.row({"made on", code(first.created), code(second.created)});
  table.row({"Assay", code(first.assay + (first.git ? " " + *first.git : "")),
             code(second.assay + (second.git ? " " + *second.git : ""))});
  table.row({"processor", plain(first.machine.cpu_model), plain(second.machine.cpu_model)});
  table.row({"instruction set", code(first.machine.isa), code(second.machine.isa)});
  table.row({"cores, threads used",
             fmt::format("{}, {}", first.machine.cores, first.machine.threads),
             fmt::format("{}, {}", second.machine.cores, second.machine.threads)});
  table.row({"load at the start", loads(first.machine), loads(second.machine)});
  table.row({"compiler", plain(first.machine.compiler), plain(second.machine.compiler)});
  table.row(
      {"held-out images", count(first.data.held_out.count), count(second.data.held_out.count)});
  return table.text();
}

std::string quality(const Comparison& comparison) {
  MarkdownTable table({"model", "variant", ">agreement, first", ">second", ">SQNR, first",
                       ">second", "quality", "decision, first", "second"});
  for (const ComparedVariant& pair : comparison.variants) {
    const Quality& first = pair.first->quality;
    const Quality& second = pair.second->quality;
    table.row({code(pair.first_model->name), code(pair.first->name),
               percent(first.agreement_fp32.value), percent(second.agreement_fp32.value),
               decibels(first.sqnr_db.value), decibels(second.sqnr_db.value), name_of(pair.quality),
               decision_word(*pair.first), decision_word(*pair.second)});
  }
  return table.text("No variant is in both studies.");
}

std::string ratio_text(const SpeedRow& row) {
  if (!row.ratio_to_fp32) return "–";
  return times(row.ratio_to_fp32->value) + " (" + times(row.ratio_to_fp32->interval) + ")";
}

std::string speed(const Comparison& comparison) {
  MarkdownTable table({"model", "variant", "boundary", ">batch", ">median, first", ">second",
                       ">against fp32, first", ">second", "all speeds of it"});
  for (const ComparedVariant& pair : comparison.variants) {
    for (const SpeedRow& row : pair.first->speed.batch) {
      for (const SpeedRow& other : pair.second->speed.batch) {
        if (row.batch != other.batch || row.boundary != other.boundary) continue;
        table.row({code(pair.first_model->name), code(pair.first->name),
                   boundary_name(row.boundary), count(row.batch), milliseconds(row.median_ms),
                   milliseconds(other.median_ms), ratio_text(row), ratio_text(other),
                   name_of(pair.speed)});
      }
    }
  }
  return table.text("No variant was timed in both studies.");
}

/// What a reader wants to know first.
std::string summary(const Comparison& comparison) {
  std::vector<std::string> quality_differs;
  std::vector<std::string> speed_differs;
  std::vector<std::string> verdict_differs;
  for (const ComparedVariant& pair : comparison.variants) {
    const std::string name = code(pair.first_model->name) + " " + code(pair.first->name);
    if (pair.quality == Agreement::differs) quality_differs.push_back(name);
    if (pair.speed == Agreement::differs) speed_differs.push_back(name);
    if (!pair.same_verdict) verdict_differs.push_back(name);
  }
  const auto line = [](const std::string& what, const std::vector<std::string>& names) {
    return "- " + what + " " + markdown(listed(names)) + ".\n";
  };
  return line("The decision differs for", verdict_differs) +
         line("Quality that should be equal differs for", quality_differs) +
         line("Speed that should hold differs for", speed_differs) + "\n";
}

}  // namespace

std::string compare_text(const Comparison& comparison) {
  std::string text = "# Two studies side by side\n\n" + summary(comparison) +
                     surroundings(*comparison.first, *comparison.second) +
                     "## What can't be compared\n\n";
  for (const std::string& caution : comparison.cautions) text += "- " + markdown(caution) + "\n";
  if (comparison.cautions.empty()) text += "Everything can.\n";
  text += "\n## Quality\n\nEqual means to the last digit.\n\n" + quality(comparison);
  return text +
         "## Speed\n\nThe ratio is fp32's time over the variant's. It holds where the intervals "
         "overlap or the ratios differ by under ten percent.\n\n" +
         speed(comparison);
}

}  // namespace assay::study
