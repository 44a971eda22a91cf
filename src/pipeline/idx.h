#pragma once
/// MNIST's file format: a pair of IDX files, images and labels.
///
/// An IDX file is a big-endian u32 0x000008DD (unsigned bytes, DD dimensions), DD big-endian u32
/// sizes, and the bytes; here DD is 3 (images × rows × columns) and 1 (labels). Source: the MNIST
/// database's own page, "The IDX file format".
#include <filesystem>
#include <memory>
#include <optional>

#include "pipeline/label_names.h"
#include "pipeline/source.h"

namespace assay::pipeline {

/// Whether the name is that of an IDX image file: "...idx3-ubyte", perhaps with ".gz".
bool is_idx_name(const std::filesystem::path& path);

/// The one IDX image file in `folder`, or nothing. Throws bad_input where there are several.
std::optional<std::filesystem::path> find_idx(const std::filesystem::path& folder);

/// Opens an image file with the label file beside it: the same name with "labels" for "images" and
/// "idx1" for "idx3", with ".gz" or without. Throws not_found, bad_input or corrupt.
std::unique_ptr<Source> open_idx(const std::filesystem::path& images, const LabelNames& labels,
                                 bool require_labels);

}  // namespace assay::pipeline
