#pragma once
/// The images that a command line names.
#include <span>
#include <string>
#include <vector>

namespace assay::cli {

/// One image to read, or a word that named none.
struct ImagePath {
  std::string path;     ///< "-": standard input
  std::string problem;  ///< why the word names no image; empty where it does
};

/// Expands files, folders (their JPEG, PNG and WebP files by extension, sorted by name, folders
/// within not entered), quoted globs (sorted) and "-". A file whose own name looks like a glob is
/// that file. A word that names nothing keeps its place, with the problem.
/// Throws UsageError where "-" is named twice.
std::vector<ImagePath> expand_images(std::span<const std::string> words);

}  // namespace assay::cli
