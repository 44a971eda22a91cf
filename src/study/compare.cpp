#include "study/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/report_text.h"
#include "study/verify.h"

namespace assay::study {
namespace {

template <typename List>
auto find_named(const List& list, const std::string& name) -> decltype(list.data()) {
  const auto found =
      std::ranges::find_if(list, [&](const auto& entry) { return entry.name == name; });
  return found == list.end() ? nullptr : &*found;
}

bool same_selection(const Selection& first, const Selection& second) {
  return first.stride == second.stride && first.offset == second.offset &&
         first.limit == second.limit && first.count == second.count &&
         first.excluded == second.excluded;
}

/// Equal, where NaN equals itself.
bool same(double first, double second) {
  return first == second || (std::isnan(first) && std::isnan(second));
}

bool same_quality(const Quality& first, const Quality& second) {
  return first.images == second.images && same(first.top1, second.top1) &&
         same(first.top5, second.top5) &&
         same(first.agreement_fp32.value, second.agreement_fp32.value) &&
         same(first.sqnr_db.value, second.sqnr_db.value) && same(first.kl.value, second.kl.value) &&
         same(first.max_abs_diff, second.max_abs_diff);
}

Agreement judged_speed(const Variant& first, const Variant& second, bool same_machine) {
  bool any = false;
  for (const SpeedRow& row : first.speed.batch) {
    for (const SpeedRow& other : second.speed.batch) {
      if (row.batch != other.batch || row.boundary != other.boundary) continue;
      if (!row.ratio_to_fp32 || !other.ratio_to_fp32) continue;
      any = true;
      if (same_machine && !ratio_holds(*row.ratio_to_fp32, *other.ratio_to_fp32)) {
        return Agreement::differs;
      }
    }
  }
  if (!any) return Agreement::not_measured;
  return same_machine ? Agreement::holds : Agreement::not_judged;
}

class Comparer {
 public:
  Comparer(const Study& first, const Study& second) {
    result_.first = &first;
    result_.second = &second;
  }

  Comparison run() {
    compare_surroundings();
    for (const Model& model : result_.first->models) {
      const Model* other = find_named(result_.second->models, model.name);
      if (other == nullptr) {
        caution("Model {} is in the first study only.", code(model.name));
      } else {
        compare_models(model, *other);
      }
    }
    for (const Model& model : result_.second->models) {
      if (find_named(result_.first->models, model.name) == nullptr) {
        caution("Model {} is in the second study only.", code(model.name));
      }
    }
    return std::move(result_);
  }

 private:
  template <typename... Args>
  void caution(fmt::format_string<Args...> format, Args&&... args) {
    result_.cautions.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void compare_surroundings() {
    const Study& first = *result_.first;
    const Study& second = *result_.second;
    same_data_ = first.data.sha256 == second.data.sha256;
    if (!same_data_) caution("The data differ (other SHA-256): quality is not judged.");
    if (!same_selection(first.data.held_out, second.data.held_out)) {
      caution("The held-out images differ: quality is not judged.");
      same_data_ = false;
    }
    if (!same_selection(first.data.calibration, second.data.calibration)) {
      caution("The calibration images differ: what was calibrated may differ by that alone.");
    }
    same_machine_ = first.machine.cpu_model == second.machine.cpu_model;
    if (!same_machine_) {
      caution("The processors differ ({} and {}): speed is shown and not judged.",
              plain(first.machine.cpu_model), plain(second.machine.cpu_model));
    } else if (first.machine.isa != second.machine.isa) {
      caution("The instruction sets differ ({} and {}): speed is shown and not judged.",
              code(first.machine.isa), code(second.machine.isa));
      same_machine_ = false;
    }
    same_isa_ = first.machine.isa == second.machine.isa;
    if (!same_isa_) {
      caution(
          "Another instruction set adds up in another order: quality that is not equal is not "
          "judged.");
    }
    if (first.assay != second.assay || first.git != second.git) {
      caution("The studies were made by two versions of Assay: what differs may be theirs.");
    }
  }

  void compare_models(const Model& model, const Model& other) {
    const bool same_checkpoint = model.checkpoint_sha256 == other.checkpoint_sha256;
    const bool same_reference = model.reference.kind == other.reference.kind &&
                                model.reference.sha256 == other.reference.sha256;
    if (!same_checkpoint) {
      caution("{}: the checkpoints differ (other SHA-256): neither quality nor speed is judged.",
              code(model.name));
    }
    if (!same_reference) {
      caution("{}: the references differ: quality is not judged.", code(model.name));
    }
    for (const Variant& variant : model.variants) {
      const Variant* counterpart = find_named(other.variants, variant.name);
      if (counterpart == nullptr) {
        caution("{}: variant {} is in the first study only.", code(model.name), code(variant.name));
        continue;
      }
      compare_variants(model, variant, *counterpart, same_checkpoint, same_reference);
    }
    for (const Variant& variant : other.variants) {
      if (find_named(model.variants, variant.name) == nullptr) {
        caution("{}: variant {} is in the second study only.", code(model.name),
                code(variant.name));
      }
    }
  }

  void compare_variants(const Model& model, const Variant& first, const Variant& second,
                        bool same_checkpoint, bool same_reference) {
    ComparedVariant compared{&model, &first, &second};
    const bool same_build = same_checkpoint && first.precision == second.precision &&
                            first.recipe == second.recipe && first.level == second.level &&
                            first.backend == second.backend;
    if (same_checkpoint && !same_build) {
      caution(
          "{}: {} is another build (precision, recipe, level or backend differ): neither "
          "quality nor speed is judged.",
          code(model.name), code(first.name));
    }
    const bool same_threads = first.threads == second.threads;
    if (!same_threads) {
      caution("{}: {} ran on {} and {} threads: speed is not judged.", code(model.name),
              code(first.name), first.threads, second.threads);
    }
    if (first.speed.empty() != second.speed.empty()) {
      caution("{}: {} was timed in one study only ({}).", code(model.name), code(first.name),
              plain(first.speed.empty() ? first.speed_reason : second.speed_reason));
    }
    if (!same_data_ || !same_build || !same_reference) {
      compared.quality = Agreement::not_judged;
    } else {
      const Agreement otherwise = same_isa_ ? Agreement::differs : Agreement::not_judged;
      compared.quality = same_quality(first.quality, second.quality) ? Agreement::equal : otherwise;
    }
    compared.speed = judged_speed(first, second, same_machine_ && same_build && same_threads);
    compared.same_verdict = first.verdict.ship == second.verdict.ship;
    result_.variants.push_back(compared);
  }

  Comparison result_;
  bool same_data_ = true;
  bool same_machine_ = true;
  bool same_isa_ = true;
};

}  // namespace

std::string name_of(Agreement agreement) {
  switch (agreement) {
    case Agreement::equal:
      return "equal";
    case Agreement::holds:
      return "holds";
    case Agreement::differs:
      return "differs";
    case Agreement::not_judged:
      return "not judged";
    case Agreement::not_measured:
      break;
  }
  return "not measured";
}

Comparison compare(const Study& first, const Study& second) {
  return Comparer(first, second).run();
}

}  // namespace assay::study
