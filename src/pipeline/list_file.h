#pragma once
/// A list of image files with their labels.
///
/// **CSV**: two columns, path and label. A first row that names a column "path" is a header; then
/// the columns may stand in any order, the label's is named "label", and others are passed over.
/// **JSONL**: an object a line with "path" and "label"; other fields are passed over.
/// A label is a name or an index (label_names.h); in JSON a number is an index. Relative paths are
/// relative to the list's folder.
#include <filesystem>
#include <memory>

#include "pipeline/label_names.h"
#include "pipeline/source.h"

namespace assay::pipeline {

/// Whether the name ends with ".csv" or ".jsonl".
bool is_list_name(const std::filesystem::path& path);

/// Throws bad_input, naming the line. That the images exist is load()'s to find.
std::unique_ptr<Source> open_list(const std::filesystem::path& list, const LabelNames& labels,
                                  bool require_labels);

}  // namespace assay::pipeline
