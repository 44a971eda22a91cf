#pragma once
/// Verbs that take a bundle or a checkpoint: which of the two a path is.
#include <filesystem>

#include "bundle/bundle.h"
#include "image/image.h"

namespace assay::cli {

/// A folder is a checkpoint; it is built in memory as `assay build` would with its defaults. A file
/// is a bundle. Sections and file sizes are those of a bundle only; a checkpoint's are 0. Throws as
/// bundle::describe, checkpoint::open and bundle::build.
bundle::Description open_source(const std::filesystem::path& path);

/// The transform alone; of a checkpoint only config.json is read.
image::Transform transform_of(const std::filesystem::path& path);

}  // namespace assay::cli
