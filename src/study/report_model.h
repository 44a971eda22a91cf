#pragma once
/// One model's part of the report.
#include <string>

#include "study/schema.h"

namespace assay::study {

/// The address of a model's or a variant's part within the page: "m0".
std::string anchor(std::size_t model);

/// From the model's heading to the images that changed.
std::string report_model(const Study& study, std::size_t model);

}  // namespace assay::study
