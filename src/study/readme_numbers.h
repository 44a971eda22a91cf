#pragma once
/// The check that a record says nothing that was not measured: every number of README.md is looked
/// up in study.json. docs/study-format.md, "How README.md's numbers are traced", has the rules.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::study {

/// A number that stands in README.md and nowhere in study.json.
struct UnexplainedNumber {
  std::size_t line = 0;  ///< of README.md, from 1
  std::string number;    ///< as written, with its unit
};

/// The numbers of `readme` that `study` (the parsed study.json) does not explain, in order. It
/// knows nothing of how the page was made: units, table headings and the names in a row decide
/// which values may explain a number. Thread-safe.
std::vector<UnexplainedNumber> unexplained_numbers(std::string_view readme, const Json& study);

}  // namespace assay::study
