#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "study/verify.h"

namespace assay::study {
namespace {

using Figures = std::vector<std::pair<std::string, double>>;

void add(Figures& figures, const std::string& name, double value, const Interval& interval) {
  figures.emplace_back(name, value);
  figures.emplace_back(name + " low", interval.low);
  figures.emplace_back(name + " high", interval.high);
}

void add(Figures& figures, const std::string& name, const Estimate& estimate) {
  add(figures, name, estimate.value, estimate.interval);
}

Figures figures_of(const Quality& quality) {
  Figures figures{{"images", static_cast<double>(quality.images)}};
  add(figures, "top1", quality.top1, quality.top1_interval);
  add(figures, "top5", quality.top5, quality.top5_interval);
  add(figures, "agreement_fp32", quality.agreement_fp32);
  if (quality.agreement_fp16) add(figures, "agreement_fp16", *quality.agreement_fp16);
  add(figures, "sqnr_db", quality.sqnr_db);
  add(figures, "kl", quality.kl);
  figures.emplace_back("lost", static_cast<double>(quality.mcnemar.lost));
  figures.emplace_back("gained", static_cast<double>(quality.mcnemar.gained));
  figures.emplace_back("p_value", quality.mcnemar.p_value);
  figures.emplace_back("max_abs_diff", quality.max_abs_diff);
  figures.emplace_back("mean_abs_diff", quality.mean_abs_diff);
  return figures;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::vector<std::string> differing(const Quality& recorded, const Quality& found) {
  const Figures before = figures_of(recorded);
  const Figures after = figures_of(found);
  if (before.size() != after.size()) return {"one of the two has no agreement with fp16"};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!same(before[i].second, after[i].second))
      names.push_back(
          fmt::format("{} {} is now {}", before[i].first, before[i].second, after[i].second));
  return names;
}

std::vector<std::string> differing_variants(const Spec& spec, const Model& recorded) {
  std::vector<std::string> left;
  const std::size_t both = std::min(spec.variants.size(), recorded.variants.size());
  for (std::size_t i = 0; i < both; ++i) {
    const VariantSpec& asked = spec.variants[i];
    const Variant& found = recorded.variants[i];
    if (found.name != asked.name) {
      left.push_back(fmt::format("variant {} is '{}' in the specification and '{}' in the record",
                                 i + 1, asked.name, found.name));
      continue;
    }
    const auto compare = [&](const char* what, const auto& wanted, const auto& recorded_as) {
      if (!(wanted == recorded_as))
        left.push_back(
            fmt::format("variant '{}': {} is {} in the specification and {} in the "
                        "record",
                        asked.name, what, wanted, recorded_as));
    };
    compare("backend", asked.backend, found.backend);
    compare("level", static_cast<std::uint64_t>(asked.level), found.level);
    if (asked.threads > 0)
      compare("threads", static_cast<std::uint64_t>(asked.threads), found.threads);
  }
  for (std::size_t i = both; i < spec.variants.size(); ++i)
    left.push_back(fmt::format("the record lacks the variant '{}'", spec.variants[i].name));
  for (std::size_t i = both; i < recorded.variants.size(); ++i)
    left.push_back(
        fmt::format("the specification lacks the variant '{}'", recorded.variants[i].name));
  return left;
}

bool ratio_holds(const Estimate& recorded, const Estimate& found) {
  const bool overlap =
      recorded.interval.low <= found.interval.high && found.interval.low <= recorded.interval.high;
  return overlap || std::abs(found.value - recorded.value) < 0.1 * recorded.value;
}

}  // namespace assay::study
