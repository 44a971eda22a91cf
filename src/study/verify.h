#pragma once
/// Whether a study's record holds where it is run again.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "study/schema.h"
#include "study/spec.h"

namespace assay::study {

enum class Outcome : std::uint8_t {
  holds,
  differs,
  not_judged,  ///< it differs, and may on a machine that is not the record's
};

/// One thing that was looked at.
struct VerifyCheck {
  std::string name;    ///< "mobilevit_s int8-max quality"
  std::string detail;  ///< what was found
  Outcome outcome = Outcome::holds;
};

struct VerifyOptions {
  /// 0: everything is run again. Else that many held-out images of each model, whose logits must be
  /// those kept in samples.json; neither calibrations, qualities of all images nor speed are then
  /// looked at.
  std::uint64_t sample = 0;
  std::function<bool()> stop{};                        ///< as RunStudyOptions::stop
  std::function<void(const VerifyCheck&)> on_check{};  ///< called as each is done
};

/// Reruns the study in `folder` with the recorded number of threads, and with the recipes that are
/// kept there: a search is not run again, nor are ablations. Quality, and the calibrations that it
/// rests on, must be the same to the last digit on the recorded instruction set. A ratio of speeds
/// holds where the intervals overlap or the ratios differ by less than 10%; on another processor it
/// is not judged. Every number of README.md, if there is one, must be in study.json, and models and
/// variants must be the specification's. Throws as read_study(), and whatever the parts throw.
std::vector<VerifyCheck> verify_study(const std::filesystem::path& folder,
                                      const VerifyOptions& options);

/// In words, where the record's variants of a model are not those of the specification: another
/// name, backend, level or number of threads, one too many or too few. Empty where they are.
std::vector<std::string> differing_variants(const Spec& spec, const Model& recorded);

/// Names of the figures that differ, with both values; empty where all are equal to the last digit.
std::vector<std::string> differing(const Quality& recorded, const Quality& found);

/// Whether a ratio of speeds holds, by the rule above.
bool ratio_holds(const Estimate& recorded, const Estimate& found);

}  // namespace assay::study
