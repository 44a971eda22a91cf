#pragma once
/// The project's own text files, for the tests that read them.
#include <filesystem>
#include <string>
#include <vector>

namespace assay::structure {

struct SourceFile {
  std::filesystem::path path;  ///< relative to the root of the tree
  std::vector<std::string> lines;
};

/// What a test found wrong: one line each, "path:line: what".
using Findings = std::vector<std::string>;

/// Every text file of the tree in the order of paths. Build output, the version control's own files
/// and files with NUL bytes (images, weights) are not among them.
const std::vector<SourceFile>& source_files();

/// The tree's root.
std::filesystem::path root();

/// "path:line: message"; lines count from 1.
std::string finding(const SourceFile& file, std::size_t line, const std::string& message);

/// `text` as a file, for tests that show what a check finds.
SourceFile snippet(const std::string& path, const std::string& text);

}  // namespace assay::structure
