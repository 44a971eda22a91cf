#include "pipeline/score.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::pipeline {
namespace {

/// NaN and the same infinity on both sides are no difference; a finite number on one side only is
/// an infinite one.
double difference(float a, float b) {
  if (std::isfinite(a) && std::isfinite(b)) return std::abs(static_cast<double>(a) - b);
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::numeric_limits<double>::infinity();
}

/// Best logit less the second best.
double margin(std::span<const float> logits) {
  const int best = best_of(logits);
  double second = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (static_cast<int>(i) != best) second = std::max(second, static_cast<double>(logits[i]));
  return static_cast<double>(logits[static_cast<std::size_t>(best)]) - second;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

int best_of(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best] || (std::isnan(logits[best]) && !std::isnan(logits[i]))) best = i;
  return static_cast<int>(best);
}

bool among_best(std::span<const float> logits, int label, int k) {
  const float own = logits[static_cast<std::size_t>(label)];
  int before = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > own || (logits[i] == own && static_cast<int>(i) < label)) ++before;
  return before < k;
}

void Score::add(std::span<const float> logits, int label, std::span<const float> reference) {
  ++images_;
  if (std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
    top1_ += among_best(logits, label, 1) ? 1 : 0;
    top5_ += among_best(logits, label, 5) ? 1 : 0;
  } else {
    ++nonfinite_;
  }
  if (!reference.empty()) compare(logits, reference);
}

void Score::compare(std::span<const float> logits, std::span<const float> reference) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double apart = difference(logits[i], reference[i]);
    max_difference_ = std::max(max_difference_, apart);
    sum_of_differences_ += apart;
  }
  compared_logits_ += logits.size();
  if (best_of(logits) == best_of(reference))
    ++agreeing_;
  else
    disagreeing_margins_.push_back(margin(reference));
}

void Score::report(EvalReport& report, bool with_reference) const {
  report.images = images_;
  report.top1_correct = top1_;
  report.top5_correct = top5_;
  report.nonfinite = nonfinite_;
  if (!with_reference) return;
  ReferenceReport& reference = report.reference.emplace();
  reference.agreeing = agreeing_;
  reference.agreement = share(agreeing_, images_);
  reference.max_abs_diff = max_difference_;
  reference.mean_abs_diff =
      compared_logits_ == 0 ? 0 : sum_of_differences_ / static_cast<double>(compared_logits_);
  reference.decided_disagreements = static_cast<std::uint64_t>(std::ranges::count_if(
      disagreeing_margins_,
      [&](double reference_margin) { return reference_margin > 2 * max_difference_; }));
}

double EvalReport::top1() const { return share(top1_correct, images); }

double EvalReport::top5() const { return share(top5_correct, images); }

}  // namespace assay::pipeline
