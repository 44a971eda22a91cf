#pragma once
/// The tables of one model's results in README.md.
#include <string>

#include "study/schema.h"

namespace assay::study {

/// From the model's heading to its last table.
std::string readme_results(const Study& study, const Model& model);

}  // namespace assay::study
