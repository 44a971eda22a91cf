#pragma once
/// A study as a page for people who have never seen the project.
#include <string>

#include "study/schema.h"

namespace assay::study {

/// report.html: one file that needs no network and no script; light and dark; for wide and narrow
/// screens. Text of the study is escaped wherever it stands. Equal studies give equal text. Throws
/// nothing but bad_alloc.
std::string report_html(const Study& study);

}  // namespace assay::study
