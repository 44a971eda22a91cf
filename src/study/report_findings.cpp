#include "study/report_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "study/report_text.h"

namespace assay::study {
namespace {

std::optional<double> ablation_of(const Model& model, const Variant& variant,
                                  std::string_view kind) {
  for (const Ablation& ablation : model.ablations) {
    if (ablation.variant == variant.name && ablation.kind == kind) return ablation.error.sqnr_db;
  }
  return std::nullopt;
}

/// "more than twice" is the step from which one of two is called the larger.
std::string heavier(double weights, double activations) {
  const double by_weights = noise_power(weights);
  const double by_activations = noise_power(activations);
  if (!std::isfinite(by_weights) || !std::isfinite(by_activations)) {
    return "Logits that are not finite allow no comparison of the two.";
  }
  if (by_weights == 0 && by_activations == 0) return "Neither brings any noise.";
  if (by_activations > 2 * by_weights) {
    return "The activations bring more than twice the noise power that the weights do.";
  }
  if (by_weights > 2 * by_activations) {
    return "The weights bring more than twice the noise power that the activations do.";
  }
  return "Neither of the two brings more than twice the noise power of the other.";
}

std::string operands_text(const Model& model, const Variant& variant) {
  const auto weights = ablation_of(model, variant, "weights");
  const auto activations = ablation_of(model, variant, "activations");
  const auto both = ablation_of(model, variant, "both");
  if (!weights || !activations) {
    return fmt::format(
        "{}: weights and activations were not rounded apart, so this study does not say which of "
        "them its error comes from.",
        code(variant.name));
  }
  std::string text = fmt::format("{}: rounding only the weights leaves {}, only the activations {}",
                                 code(variant.name), decibels(*weights), decibels(*activations));
  if (both) text += ", both " + decibels(*both);
  return text + ". " + heavier(*weights, *activations);
}

std::string layer_text(const Model& model, const Variant& variant) {
  const auto worst = worst_layers(model, variant.name, 1);
  if (worst.empty()) return "";
  const LayerSensitivity& layer = *worst.front();
  std::string text =
      fmt::format("{}: one layer narrow at a time, {} ({}) costs the most: {}", code(variant.name),
                  code(layer.layer), plain(layer.role), decibels(layer.error.sqnr_db));
  const auto both = ablation_of(model, variant, "both");
  if (both && noise_power(layer.error.sqnr_db) > 0.5 * noise_power(*both)) {
    text += ", more than half of the noise power that all narrow layers together make";
  }
  return text + ".";
}

std::string observers_text(const Model& model, const Variant& variant) {
  const Calibrator* best = nullptr;
  const Calibrator* worst = nullptr;
  for (const Calibrator& calibrator : model.calibrators) {
    if (calibrator.variant != variant.name || std::isnan(calibrator.error.sqnr_db)) continue;
    if (best == nullptr || calibrator.error.sqnr_db > best->error.sqnr_db) best = &calibrator;
    if (worst == nullptr || calibrator.error.sqnr_db < worst->error.sqnr_db) worst = &calibrator;
  }
  if (best == worst) return "";
  return fmt::format("{}: of the observers that were tried, {} leaves {} and {} {}.",
                     code(variant.name), code(best->observer), decibels(best->error.sqnr_db),
                     code(worst->observer), decibels(worst->error.sqnr_db));
}

std::string selection(const Selection& selection) {
  std::string text = selection.stride == 1
                         ? "every image"
                         : fmt::format("one image in {}", count(selection.stride));
  text += fmt::format(", beginning with image {}", count(selection.offset));
  if (selection.limit != 0) text += fmt::format(", {} at most", count(selection.limit));
  return text;
}

bool any_speed(const Study& study) {
  return std::ranges::any_of(study.models, [](const Model& model) {
    return std::ranges::any_of(model.variants,
                               [](const Variant& variant) { return !variant.speed.empty(); });
  });
}

std::set<std::string> emulated_formats(const Study& study) {
  std::set<std::string> formats;
  for (const Model& model : study.models) {
    for (const Variant& variant : model.variants) {
      for (const std::string& format : variant.emulated) formats.insert(code(format));
    }
  }
  return formats;
}

/// Whether a variant has layers whose inputs should be fp16 and are fp32: graph/emulate.h.
bool any_half_stored(const Study& study) {
  const auto stores = [](const Variant& variant) {
    return variant.backend == "cpu" && (variant.plan.find("fp16 stored") != std::string::npos ||
                                        std::ranges::count(variant.emulated, "nvfp4") != 0);
  };
  return std::ranges::any_of(study.models, [&](const Model& model) {
    return std::ranges::any_of(model.variants, stores);
  });
}

}  // namespace

std::vector<std::string> decisions(const Study& study) {
  std::vector<std::string> lines;
  for (const Model& model : study.models) {
    std::vector<std::string> ship;
    std::vector<std::string> keep;
    for (const Variant& variant : model.variants) {
      if (!is_baseline(variant)) (variant.verdict.ship ? ship : keep).push_back(code(variant.name));
    }
    std::string line = code(model.name) + ": ";
    if (ship.empty() && keep.empty()) {
      line += model.variants.empty() ? "no variant was measured."
                                     : "nothing but the baseline was measured.";
    } else if (ship.empty()) {
      line += "ship none of " + listed(keep) + ".";
    } else {
      line += "ship " + listed(ship);
      line += keep.empty() ? "." : "; do not ship " + listed(keep) + ".";
    }
    lines.push_back(std::move(line));
  }
  if (lines.empty()) lines.emplace_back("No model was measured, so nothing is decided.");
  return lines;
}

std::string thresholds_text(const Study& study) {
  if (study.thresholds.empty()) {
    return "No threshold was set beforehand: a variant ships if its logits are finite wherever "
           "fp32's are.";
  }
  std::vector<std::string> conditions;
  for (const auto& [name, value] : study.thresholds) {
    conditions.push_back(threshold_text(name, value));
  }
  return "A variant ships if its logits are finite wherever fp32's are and it meets every "
         "threshold "
         "that was set beforehand: " +
         listed(conditions) + ". Each figure is judged as it is, whatever its 95% interval.";
}

std::string decision_word(const Variant& variant) {
  if (is_baseline(variant)) return "baseline";
  return variant.verdict.ship ? "ship" : "do not ship";
}

std::string verdict_text(const Variant& variant) {
  std::string text;
  for (const std::string& reason : variant.verdict.reasons) {
    if (!text.empty()) text += text.ends_with('.') ? " " : "; ";
    text += plain(reason);
  }
  return text.empty() ? "no reason was recorded" : text;
}

std::vector<std::string> causes(const Model& model, const Variant& variant) {
  std::vector<std::string> lines;
  if (std::isinf(variant.quality.sqnr_db.value) && variant.quality.sqnr_db.value > 0) return lines;
  lines.push_back(operands_text(model, variant));
  for (std::string& line :
       std::vector{layer_text(model, variant), observers_text(model, variant)}) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> selection_text(const Study& study) {
  const Data& data = study.data;
  std::vector<std::string> lines{
      fmt::format("{} images: {} (SHA-256 {}).", count(data.samples), code(data.path),
                  code(data.sha256)),
      fmt::format("Calibration sees {}: {} images.", selection(data.calibration),
                  count(data.calibration.count)),
      fmt::format("Judged on are {}, less the {} of these that calibration has: {} images held "
                  "out.",
                  selection(data.held_out), count(data.held_out.excluded),
                  count(data.held_out.count))};
  lines.emplace_back(
      data.disjoint
          ? "The two lists of positions were compared one by one: no image is in both."
          : "The two lists of positions overlap: the quality figures are not of unseen images.");
  lines.push_back(fmt::format(
      "Ablations, calibrators, sensitivity and the layers' largest numbers use {} held-out "
      "images.",
      count(data.ablation_images)));
  return lines;
}

std::vector<std::string> trust(const Study& study) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "Quality was measured on {} images that {}. The intervals say how far such a figure may be "
      "off by the luck of which images these were; they say nothing of other data.",
      count(study.data.held_out.count),
      study.data.disjoint ? "calibration never saw" : "calibration may have seen"));
  lines.push_back(any_speed(study)
                      ? fmt::format("Speed was measured on one machine ({}, {} threads). Ratios "
                                    "are from one run in which all variants took turns; another "
                                    "processor may order them differently.",
                                    plain(study.machine.cpu_model), count(study.machine.threads))
                      : "Speed was not measured.");
  if (study.machine.load_at_start.size() == 3) {
    lines.push_back(
        fmt::format("The system's load was {} when the study began, on {} cores: work of others "
                    "stretches times and widens their intervals.",
                    figure(study.machine.load_at_start.front()), count(study.machine.cores)));
  }
  const std::set<std::string> emulated = emulated_formats(study);
  if (!emulated.empty()) {
    const std::vector<std::string> formats(emulated.begin(), emulated.end());
    lines.push_back(
        fmt::format("There is no arithmetic for {} here: operands were rounded to the format in "
                    "software, and products added up in fp32. Arithmetic of its own may add up "
                    "otherwise; of its speed this study says nothing.",
                    listed(formats)));
  }
  if (any_half_stored(study)) {
    lines.emplace_back(
        "On the cpu backend fp16 is a format to store: weights were rounded to it, the inputs of "
        "fp16 and nvfp4 layers were not. What rounds these too gives other numbers.");
  }
  lines.emplace_back(
      "Quality figures come out equal to the last digit when the study is run again with "
      "the same threads and tactics on the same kind of processor; times do not.");
  return lines;
}

std::string nonfinite_text(const Variant& variant) {
  if (!variant.nonfinite) return "not scanned";
  const NonFinite& scan = *variant.nonfinite;
  std::string text =
      scan.held_out == 0
          ? "every held-out image gives finite logits"
          : fmt::format("{} held-out images give logits that are not finite", count(scan.held_out));
  std::vector<std::string> bad;
  for (const StressInput& input : scan.stress) {
    if (!input.finite) bad.push_back(code(input.name));
  }
  if (scan.stress.empty()) return text + "; no stress input was run";
  return text + (bad.empty() ? "; every stress input gives finite logits"
                             : "; of the stress inputs not finite: " + listed(bad));
}

}  // namespace assay::study
