#pragma once
#include <string>
#include <vector>

#include "study/schema.h"
#include "study/spec.h"

namespace assay::study {

/// What a reader might expect of this study and will not find in it: worked out from what was run.
std::vector<std::string> not_measured(const Spec& spec, const Study& study);

}  // namespace assay::study
