#pragma once
/// The values of a study.json by which a number in a page may be explained.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::study {

/// A number of study.json with what narrows it down.
struct StudyValue {
  double value = 0;
  std::string key;    ///< the field: "top1"; an estimate's and an interval's parts have the field's
  std::string model;  ///< empty: of the whole study
  std::string variant;  ///< empty: of the whole model
};

/// All numbers but raw samples, and all texts with a digit but pictures.
struct StudyValues {
  std::vector<StudyValue> numbers;
  std::vector<std::string> texts;  ///< as plain() writes them, the longest first
  std::set<std::string, std::less<>> models;
  std::set<std::string, std::less<>> variants;
  std::string spec;
};

StudyValues collect_values(const Json& study);

}  // namespace assay::study
