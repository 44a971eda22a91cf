#pragma once
/// Whether a variant is to ship, by the specification's thresholds and nothing else.
#include <map>
#include <string>

#include "study/schema.h"

namespace assay::study {

/// `fp32` is the variant that the others are compared with, of `reference` the top1 must be known.
/// A variant ships where it meets every threshold that there is and gives finite numbers wherever
/// fp32 does; a threshold that it was not measured by is not met. fp32 itself is held to numbers
/// that are finite, and to nothing else. Figures are judged by their point estimates. Reasons are
/// sentences made of measured figures, with their intervals in brackets.
Verdict verdict(const Variant& variant, const Variant& fp32, const Reference& reference,
                const std::map<std::string, double>& thresholds);

}  // namespace assay::study
