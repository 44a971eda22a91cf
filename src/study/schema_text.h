#pragma once
/// JSON as text that people read and compare line by line.
#include <string>

#include "base/json.h"

namespace assay::study {

/// `json` with one space an indent; arrays of numbers, and whatever else is short, take one line.
/// Ends with a line end. Throws Json::exception where a text is not UTF-8.
std::string schema_text(const Json& json);

}  // namespace assay::study
