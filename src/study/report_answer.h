#pragma once
/// The report's first part: what to ship, before anything else.
#include <string>

#include "study/schema.h"

namespace assay::study {

/// One line a model, a card for each variant that ships, a table of the others, and the thresholds.
std::string report_answer(const Study& study);

}  // namespace assay::study
