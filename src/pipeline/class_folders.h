#pragma once
/// A folder with one sub-folder a class.
///
/// Folders become labels by name (label_names.h) where every folder has a label of its name; then
/// classes may be missing. Where none has, and there are as many folders as labels, the folders in
/// the order of their names are the labels in theirs, as torchvision's ImageFolder has it
/// (ImageNet's "n01440764" ...). Anything between is an error, and so are folders "1", "2", ...
/// "10", whose order as names is not their order as numbers: there the two readings contradict each
/// other.
#include <filesystem>
#include <memory>

#include "pipeline/label_names.h"
#include "pipeline/source.h"

namespace assay::pipeline {

/// Throws bad_input, naming the folder.
std::unique_ptr<Source> open_class_folders(const std::filesystem::path& folder,
                                           const LabelNames& labels);

}  // namespace assay::pipeline
