#pragma once
/// The record of a study as Markdown.
#include <string>

#include "study/schema.h"

namespace assay::study {

/// README.md: decision, recipes, method, results, why, what was not measured, when to revisit.
/// Every number in it is a value of `study` (unexplained_numbers() checks that), and text of the
/// study is escaped. Equal studies give equal text. Throws nothing but bad_alloc.
std::string readme(const Study& study);

}  // namespace assay::study
