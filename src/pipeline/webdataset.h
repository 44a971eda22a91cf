#pragma once
/// WebDataset: tar files in which the parts of a sample stand side by side under one key.
///
/// An entry "train/0017.jpg" has the key "train/0017" and the extension "jpg"; the extension begins
/// at the first dot of the file's name. Parts of one sample follow each other. Here a sample is one
/// image (jpg, jpeg, png, webp) and its label: "cls" (text: an index or a name), or "json" with a
/// field "label" (a number or a name); "cls" wins. Other parts are passed over, hidden files too.
/// Source: the WebDataset format's own description, github.com/webdataset/webdataset.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/label_names.h"
#include "pipeline/source.h"

namespace assay::pipeline {

/// Whether the name ends with ".tar", ".tar.gz" or ".tgz".
bool is_shard_name(const std::filesystem::path& path);

/// The shards in `folder`, by name; none is no error.
std::vector<std::filesystem::path> find_shards(const std::filesystem::path& folder);

/// "val-{000..003}.tar" to its four paths, with the digits of the first number; a text without
/// braces to itself. Throws bad_input for anything else in braces, or over 100,000 paths.
std::vector<std::filesystem::path> expand_shards(const std::string& pattern);

/// Opens the first shard at once and the others when their turn comes; all must exist. Throws
/// not_found, and while reading bad_input or corrupt, naming shard and key.
std::unique_ptr<Source> open_shards(std::vector<std::filesystem::path> shards, LabelNames labels,
                                    bool require_labels);

}  // namespace assay::pipeline
