#include "study/verdict.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "study/report_text.h"
#include "study/spec.h"

namespace assay::study {
namespace {

/// As a sentence says it.
std::string sqnr_words(const Estimate& sqnr) {
  if (std::isfinite(sqnr.value))
    return fmt::format("{} ({})", decibels(sqnr.value), decibels(sqnr.interval));
  return sqnr.value > 0 ? "without bound, for no logit differs"
                        : "nothing, for some are not finite";
}

class Judge {
 public:
  explicit Judge(const std::map<std::string, double>& thresholds) : thresholds_(thresholds) {}

  /// The threshold, where there is one.
  [[nodiscard]] const double* wanted(const char* threshold) const {
    const auto found = thresholds_.find(threshold);
    return found == thresholds_.end() ? nullptr : &found->second;
  }

  void say(const char* threshold, bool met, std::string reason) {
    verdict_.reasons.push_back(std::move(reason));
    if (!met) verdict_.failed.emplace_back(threshold);
  }

  Verdict finish() {
    verdict_.ship = verdict_.failed.empty();
    return std::move(verdict_);
  }

 private:
  const std::map<std::string, double>& thresholds_;
  Verdict verdict_;
};

void judge_agreement(Judge& judge, const Quality& quality) {
  const double* wanted = judge.wanted("agreement");
  if (wanted == nullptr) return;
  const double found = quality.agreement_fp32.value;
  judge.say(
      "agreement", found >= *wanted,
      fmt::format("The top-1 class is the reference's on {} ({}) of {} images; {} or more is asked "
                  "for.",
                  percent(found), percent(quality.agreement_fp32.interval), quality.images,
                  percent(*wanted)));
}

void judge_accuracy(Judge& judge, const Quality& quality, const Estimate& reference) {
  const double* wanted = judge.wanted("top1_drop");
  if (wanted == nullptr) return;
  constexpr double kRounding = 1e-9;  // of two shares' difference; an image is far more
  judge.say("top1_drop", reference.value - quality.top1 <= *wanted + kRounding,
            fmt::format("Top-1 is {} ({}), the reference's {} (McNemar's p = {:.3f}); a drop of {} "
                        "is allowed.",
                        percent(quality.top1), percent(quality.top1_interval),
                        percent(reference.value), quality.mcnemar.p_value, percent(*wanted)));
}

void judge_noise(Judge& judge, const Quality& quality) {
  const double* wanted = judge.wanted("sqnr_db");
  if (wanted == nullptr) return;
  judge.say("sqnr_db", quality.sqnr_db.value >= *wanted,
            fmt::format("The logits' SQNR is {}; {} is asked for.", sqnr_words(quality.sqnr_db),
                        decibels(*wanted)));
}

/// The smallest batch at the call boundary: what most callers see.
const SpeedRow* row_to_judge(const Variant& variant) {
  const SpeedRow* found = nullptr;
  for (const SpeedRow& row : variant.speed.batch)
    if (row.boundary == "call" && row.ratio_to_fp32 && (!found || row.batch < found->batch))
      found = &row;
  return found;
}

void judge_speed(Judge& judge, const Variant& variant) {
  const double* wanted = judge.wanted("speedup");
  if (wanted == nullptr) return;
  const SpeedRow* row = row_to_judge(variant);
  if (row == nullptr) {
    judge.say("speedup", false,
              fmt::format("Its speed was not measured here, and {:.2f}× is asked for: {}.", *wanted,
                          variant.speed_reason));
    return;
  }
  judge.say("speedup", row->ratio_to_fp32->value >= *wanted,
            fmt::format("A call of batch {} is {} ({}) as fast as fp32's; {:.2f}× is asked for.",
                        row->batch, times(row->ratio_to_fp32->value),
                        times(row->ratio_to_fp32->interval), *wanted));
}

void judge_finite(Judge& judge, const Variant& variant, const Variant& fp32) {
  if (!variant.nonfinite) return;
  const NonFinite& scan = *variant.nonfinite;
  if (scan.held_out > 0)
    judge.say("finite", false,
              fmt::format("{} held-out images have logits that are not finite.", scan.held_out));
  for (std::size_t i = 0; i < scan.stress.size(); ++i) {
    const bool wide =
        !fp32.nonfinite || i >= fp32.nonfinite->stress.size() || fp32.nonfinite->stress[i].finite;
    if (scan.stress[i].finite || !wide) continue;
    judge.say("finite", false,
              fmt::format("The stress input \"{}\" gives logits that are not finite, where fp32's "
                          "are.",
                          scan.stress[i].name));
  }
}

}  // namespace

Verdict verdict(const Variant& variant, const Variant& fp32, const Reference& reference,
                const std::map<std::string, double>& thresholds) {
  Judge judge(thresholds);
  if (variant.name == kFp32) {
    judge.say("", true,
              reference.kind == "file"
                  ? "It is what the others' speed is compared with; the reference of their quality "
                    "is another program's logits."
                  : "It is what the others are compared with.");
  } else {
    judge_agreement(judge, variant.quality);
    judge_accuracy(judge, variant.quality, *reference.top1);
    judge_noise(judge, variant.quality);
    judge_speed(judge, variant);
  }
  judge_finite(judge, variant, fp32);
  Verdict made = judge.finish();
  // A threshold is listed once, however many inputs it failed on.
  made.failed.erase(std::unique(made.failed.begin(), made.failed.end()), made.failed.end());
  return made;
}

}  // namespace assay::study
