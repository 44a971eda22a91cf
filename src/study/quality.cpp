#include "study/quality.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "pipeline/score.h"
#include "quant/quant.h"

namespace assay::study {
namespace {

std::span<const float> row(std::span<const float> logits, std::size_t image, std::size_t classes) {
  return logits.subspan(image * classes, classes);
}

Estimate share(std::uint64_t part, std::uint64_t whole) {
  return {static_cast<double>(part) / static_cast<double>(whole), wilson_interval(part, whole)};
}

void check(const Compared& logits) {
  const std::size_t numbers = logits.labels.size() * logits.classes;
  const bool fits = numbers > 0 && logits.variant.size() == numbers &&
                    logits.reference.size() == numbers &&
                    (logits.fp16.empty() || logits.fp16.size() == numbers);
  if (!fits)
    fail(ErrorKind::bad_input, "logits of {} images and {} classes: {}, {} and {} numbers",
         logits.labels.size(), logits.classes, logits.variant.size(), logits.reference.size(),
         logits.fp16.size());
}

/// A label is met by finite logits whose best is it.
bool right(std::span<const float> logits, int label) {
  return quant::all_finite(logits) && pipeline::best_of(logits) == label;
}

McNemar mcnemar(const Compared& logits) {
  McNemar test;
  for (std::size_t i = 0; i < logits.labels.size(); ++i) {
    const bool reference = right(row(logits.reference, i, logits.classes), logits.labels[i]);
    const bool variant = right(row(logits.variant, i, logits.classes), logits.labels[i]);
    test.lost += reference && !variant ? 1 : 0;
    test.gained += variant && !reference ? 1 : 0;
  }
  test.p_value = mcnemar_exact(test.lost, test.gained);
  return test;
}

pipeline::EvalReport scored(const Compared& logits) {
  pipeline::Score score;
  for (std::size_t i = 0; i < logits.labels.size(); ++i)
    score.add(row(logits.variant, i, logits.classes), logits.labels[i],
              row(logits.reference, i, logits.classes));
  pipeline::EvalReport report;
  score.report(report, true);
  return report;
}

std::optional<Estimate> agreement_with_fp16(const Compared& logits) {
  if (logits.fp16.empty()) return std::nullopt;
  std::uint64_t agreeing = 0;
  for (std::size_t i = 0; i < logits.labels.size(); ++i) {
    const auto variant = row(logits.variant, i, logits.classes);
    const auto fp16 = row(logits.fp16, i, logits.classes);
    const bool both = quant::all_finite(variant) && quant::all_finite(fp16);
    agreeing += both && pipeline::best_of(variant) == pipeline::best_of(fp16) ? 1 : 0;
  }
  return share(agreeing, logits.labels.size());
}

double margin(std::span<const float> logits) {
  std::vector<float> ordered(logits.begin(), logits.end());
  std::ranges::sort(ordered, std::greater<>());
  return ordered.size() < 2 ? 0 : static_cast<double>(ordered[0]) - ordered[1];
}

}  // namespace

Quality quality(const Compared& logits) {
  check(logits);
  const pipeline::EvalReport report = scored(logits);
  const auto errors = quant::image_errors(logits.reference, logits.variant, logits.classes);
  const quant::LogitError error = quant::summarize(errors);
  const quant::LogitErrorIntervals intervals = quant::intervals(errors);
  Quality quality;
  quality.images = report.images;
  quality.top1 = report.top1();
  quality.top1_interval = wilson_interval(report.top1_correct, report.images);
  quality.top5 = report.top5();
  quality.top5_interval = wilson_interval(report.top5_correct, report.images);
  quality.agreement_fp32 = {error.agreement, intervals.agreement};
  quality.agreement_fp16 = agreement_with_fp16(logits);
  quality.sqnr_db = {error.sqnr_db, intervals.sqnr_db};
  quality.kl = {error.kl, intervals.kl};
  quality.mcnemar = mcnemar(logits);
  quality.max_abs_diff = report.reference->max_abs_diff;
  quality.mean_abs_diff = report.reference->mean_abs_diff;
  return quality;
}

std::uint64_t nonfinite_images(std::span<const float> logits, std::size_t classes) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < logits.size() / classes; ++i)
    count += quant::all_finite(row(logits, i, classes)) ? 0 : 1;
  return count;
}

Estimate top1(std::span<const float> logits, std::span<const int> labels, std::size_t classes) {
  std::uint64_t correct = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    correct += right(row(logits, i, classes), labels[i]) ? 1 : 0;
  return share(correct, labels.size());
}

Changes changes(const Compared& logits, std::span<const std::uint64_t> positions,
                std::size_t most) {
  check(logits);
  Changes changes;
  for (std::size_t i = 0; i < logits.labels.size(); ++i) {
    const auto reference = row(logits.reference, i, logits.classes);
    const int before = pipeline::best_of(reference);
    const auto variant = row(logits.variant, i, logits.classes);
    const int after = pipeline::best_of(variant);
    if (before == after && quant::all_finite(variant)) continue;
    changes.worst.push_back({positions[i], static_cast<std::uint64_t>(logits.labels[i]),
                             static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(after),
                             margin(reference), ""});
  }
  changes.count = changes.worst.size();
  std::ranges::stable_sort(changes.worst, std::greater<>(), &ChangedImage::reference_margin);
  changes.worst.resize(std::min(most, changes.worst.size()));
  return changes;
}

}  // namespace assay::study
