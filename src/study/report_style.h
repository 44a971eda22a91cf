#pragma once
/// How the report looks.
#include <string_view>

namespace assay::study {

/// The page's style sheet: light and dark, from the width of a phone on.
std::string_view report_style();

}  // namespace assay::study
