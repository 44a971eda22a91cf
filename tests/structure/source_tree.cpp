#include "structure/source_tree.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/file.h"

namespace assay::structure {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestText = 4 << 20;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Folders that hold nothing of the project's: output, caches, version control.
bool is_foreign(const fs::path& folder) {
  static const std::set<std::string> names{".git",        ".cache",       "build",
                                           "__pycache__", "node_modules", "shared"};
  return names.contains(folder.filename().string());
}

std::vector<SourceFile> read_tree() {
  std::vector<SourceFile> files;
  for (auto entry = fs::recursive_directory_iterator(root()); entry != fs::end(entry); ++entry) {
    if (entry->is_directory() && is_foreign(entry->path())) {
      entry.disable_recursion_pending();
    }
    if (!entry->is_regular_file() || entry->file_size() > kLargestText) continue;
    const std::string text = read_text(entry->path(), kLargestText);
    if (text.find('\0') != std::string::npos) continue;
    files.push_back({entry->path().lexically_relative(root()), lines_of(text)});
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace

fs::path root() { return ASSAY_SOURCE_DIR; }

const std::vector<SourceFile>& source_files() {
  static const std::vector<SourceFile> files = read_tree();
  return files;
}

std::string finding(const SourceFile& file, std::size_t line, const std::string& message) {
  return file.path.string() + ":" + std::to_string(line) + ": " + message;
}

SourceFile snippet(const std::string& path, const std::string& text) {
  return {path, lines_of(text)};
}

}  // namespace assay::structure
