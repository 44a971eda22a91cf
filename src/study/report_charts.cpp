#include "study/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/chart.h"
#include "study/report_text.h"

namespace assay::study {
namespace {

using chart::Bar;
using chart::Caption;

bool ships(const Variant& variant) { return variant.verdict.ship && !is_baseline(variant); }

bool is_finite(const Estimate& estimate) {
  return std::isfinite(estimate.value) && std::isfinite(estimate.interval.low) &&
         std::isfinite(estimate.interval.high);
}

/// The rows in words, for those who do not see the chart.
std::string described(const std::vector<Bar>& rows) {
  std::string text;
  for (const Bar& row : rows) text += row.label + ": " + row.text + ". ";
  return text;
}

std::string bars_of(Caption caption, const std::vector<Bar>& rows, double from = 0) {
  if (rows.empty()) return "";
  caption.description = described(rows);
  return chart::bars(caption, rows, from);
}

Bar noise_bar(const std::string& label, double sqnr) {
  Bar bar{label, std::nullopt, std::nullopt, decibels(sqnr), false};
  if (std::isfinite(sqnr)) bar.value = std::max(sqnr, 0.0);
  return bar;
}

std::string axis_text(double noise) { return fmt::format("{:.0f} dB", -noise); }

std::string speed_chart(const Model& model, const std::string& boundary, std::uint64_t batch) {
  std::vector<chart::Samples> rows;
  std::string description;
  for (const Variant& variant : model.variants) {
    for (const SpeedRow& row : variant.speed.batch) {
      if (row.boundary != boundary || row.batch != batch) continue;
      rows.push_back({variant.name, row.samples_ms, row.interval_ms, milliseconds(row.median_ms)});
      description += variant.name + ": " + milliseconds(row.median_ms) + ". ";
    }
  }
  const std::string title = fmt::format("{}, batch {}: every sample’s time",
                                        boundary == "device" ? "Device"
                                        : boundary == "call" ? "Call"
                                                             : "End to end",
                                        batch);
  return chart::boxes({title,
                       "Left is faster. The box holds the middle half of the samples, its line is "
                       "the median, the thin line holds nine samples in ten, dots are samples.",
                       description},
                      rows, " ms");
}

}  // namespace

std::string tradeoff_chart(const Model& model) {
  std::vector<chart::Point> points;
  std::string description;
  std::vector<std::string> left_out;
  for (const Variant& variant : model.variants) {
    const SpeedRow* speed = headline_speed(variant);
    const Estimate& noise = variant.quality.sqnr_db;
    if (speed == nullptr) left_out.push_back(variant.name);
    if (speed == nullptr || !speed->ratio_to_fp32 || !is_finite(noise)) continue;
    const Estimate& ratio = *speed->ratio_to_fp32;
    const std::string text = fmt::format("{}: {} as fast as fp32, SQNR {}", variant.name,
                                         times(ratio.value), decibels(noise.value));
    points.push_back({variant.name, ratio.value, noise.value, ratio.interval, noise.interval,
                      ships(variant), text});
    description += text + ". ";
  }
  if (points.empty()) return "";
  const std::string missing =
      left_out.empty() ? "" : " Not timed, so not here: " + listed(left_out) + ".";
  return chart::scatter(
      {"Speed against quality",
       "Up is closer to " + reference_name(model) +
           ", right is faster; the best corner is top right. ✓ and a disc: ships. Diamond: does "
           "not. Lines are 95% intervals." +
           missing,
       description},
      points, "×", " dB", 1, "as fast as fp32");
}

std::string noise_chart(const Model& model) {
  std::vector<Bar> rows;
  for (const Variant& variant : model.variants) {
    Bar bar = noise_bar(variant.name, variant.quality.sqnr_db.value);
    if (is_finite(variant.quality.sqnr_db)) bar.interval = variant.quality.sqnr_db.interval;
    bar.good = ships(variant);
    rows.push_back(std::move(bar));
  }
  return bars_of({"Closeness to " + reference_name(model) + " (SQNR)",
                  "Longer is closer. Ten decibels more are a tenth of the noise. ✓: ships.", ""},
                 rows);
}

std::string agreement_chart(const Model& model) {
  std::vector<Bar> rows;
  double least = 1;
  for (const Variant& variant : model.variants) {
    const Estimate& agreement = variant.quality.agreement_fp32;
    least = std::min(least, agreement.interval.low);
    rows.push_back(
        {variant.name, (1 - agreement.value) * 100,
         Interval{(1 - agreement.interval.high) * 100, (1 - agreement.interval.low) * 100},
         percent(agreement.value) + " agree", ships(variant)});
  }
  if (least == 1) return "";
  return bars_of(
      {"Images that got another answer, in percent",
       "Shorter is better. The figure at the right is the share that kept it. ✓: ships.", ""},
      rows);
}

std::string size_chart(const Model& model) {
  std::vector<Bar> rows;
  for (const Variant& variant : model.variants) {
    rows.push_back({variant.name, static_cast<double>(variant.size.bundle_bytes) / 1e6,
                    std::nullopt, megabytes(variant.size.bundle_bytes), ships(variant)});
  }
  return bars_of({"Size of the file that ships, in MB", "Shorter is smaller. ✓: ships.", ""}, rows);
}

std::string speed_charts(const Model& model) {
  // In the order in which they were measured.
  std::vector<std::pair<std::string, std::uint64_t>> kinds;
  for (const Variant& variant : model.variants) {
    for (const SpeedRow& row : variant.speed.batch) {
      const std::pair kind{row.boundary, row.batch};
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  std::string text;
  for (const auto& [boundary, batch] : kinds) text += speed_chart(model, boundary, batch);
  return text;
}

std::string ablation_chart(const Model& model, const Variant& variant) {
  std::vector<Bar> rows;
  for (const Ablation& ablation : model.ablations) {
    if (ablation.variant != variant.name) continue;
    const std::string label =
        ablation.kind == "both" ? "weights and activations" : "only the " + ablation.kind;
    rows.push_back(noise_bar(label, ablation.error.sqnr_db));
  }
  return bars_of(
      {variant.name + ": what is rounded",
       "SQNR in decibels where only these numbers are rounded. Shorter means more noise.", ""},
      rows);
}

std::string calibrator_chart(const Model& model, const Variant& variant) {
  std::vector<Bar> rows;
  for (const Calibrator& calibrator : model.calibrators) {
    if (calibrator.variant != variant.name) continue;
    rows.push_back(noise_bar(calibrator.observer, calibrator.error.sqnr_db));
  }
  return bars_of(
      {variant.name + ": how ranges are chosen",
       "SQNR in decibels with each calibrator. Longer is closer to " + reference_name(model) + ".",
       ""},
      rows);
}

std::string sensitivity_chart(const Model& model, const Variant& variant) {
  const auto worst = worst_layers(model, variant.name, 10);
  std::vector<chart::Column> entries;
  double least = INFINITY;
  for (const LayerSensitivity& layer : model.sensitivity) {
    if (layer.variant != variant.name || !std::isfinite(layer.error.sqnr_db)) continue;
    const auto found = std::ranges::find(worst, &layer);
    const int rank = found == worst.end() ? 0 : static_cast<int>(found - worst.begin()) + 1;
    entries.push_back({layer.layer, -layer.error.sqnr_db,
                       decibels(layer.error.sqnr_db) + ", " + layer.role, rank});
    least = std::min(least, -layer.error.sqnr_db);
  }
  if (entries.empty()) return "";
  std::string description;
  for (const LayerSensitivity* layer : worst) {
    description += layer->layer + ": " + decibels(layer->error.sqnr_db) + ". ";
  }
  return chart::columns(
      {variant.name + ": one layer at a time",
       "Only this layer is narrow. A tall column is a layer that brings much noise; the ten worst "
       "are in full colour, the three worst have numbers. The axis is SQNR.",
       "The ten worst: " + description},
      entries, least - 4, axis_text);
}

std::string range_chart(const Variant& variant) {
  if (!variant.nonfinite || variant.nonfinite->layers.empty()) return "";
  // Of bf16 every layer's numbers are so small a part that the others would have no room.
  constexpr double kFar = 1e-9;
  std::vector<chart::LayerDot> dots;
  const LayerRange* nearest = nullptr;
  for (const LayerRange& layer : variant.nonfinite->layers) {
    if (layer.share < kFar) continue;
    dots.push_back({layer.layer, layer.share, layer.format,
                    fmt::format("{} of {} ({})", figure(layer.largest), figure(layer.format_max),
                                layer.format)});
    if (nearest == nullptr || layer.share > nearest->share) nearest = &layer;
  }
  if (dots.empty()) return "";
  const char* left_out = dots.size() == variant.nonfinite->layers.size()
                             ? ""
                             : " Layers below a billionth of it are left out.";
  return chart::log_dots(
      {variant.name + ": room for large numbers",
       std::string("Each dot is the largest number a layer met, as a part of the largest that its "
                   "format can write with the layer’s scale: the dashed line. The axis is "
                   "logarithmic.") +
           left_out,
       fmt::format("Nearest to its limit: {}, {} of {}", nearest->layer, figure(nearest->largest),
                   figure(nearest->format_max))},
      dots, {{"largest of the format", 1}});
}

}  // namespace assay::study
