#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "study/images.h"

namespace assay::study {
namespace {

namespace fs = std::filesystem;

/// A file and what it is called among the others.
struct Named {
  std::string name;
  fs::path path;
};

std::vector<Named> files_below(const fs::path& folder) {
  std::vector<Named> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files.push_back({entry.path().lexically_relative(folder).generic_string(), entry.path()});
  return files;
}

/// Of "name-{000..003}.tar": what begins and ends so.
std::vector<Named> shards(const fs::path& pattern) {
  const std::string name = pattern.filename().string();
  const std::size_t open = name.find('{');
  const std::size_t close = name.find('}');
  if (open == std::string::npos || close == std::string::npos)
    fail(ErrorKind::not_found, "{}: no such file or folder", pattern.string());
  const std::string head = name.substr(0, open);
  const std::string tail = name.substr(close + 1);
  const fs::path folder = pattern.has_parent_path() ? pattern.parent_path() : fs::path(".");
  std::vector<Named> files = files_below(folder);
  std::erase_if(files, [&](const Named& file) {
    return !file.name.starts_with(head) || !file.name.ends_with(tail);
  });
  return files;
}

std::vector<Named> files_of(const fs::path& path) {
  if (fs::is_directory(path)) return files_below(path);
  if (!fs::exists(path)) return shards(path);
  std::vector<Named> files{{path.filename().string(), path}};
  constexpr std::string_view kImages = "images-idx3-ubyte";
  std::string labels = path.filename().string();
  if (const std::size_t at = labels.find(kImages); at != std::string::npos) {
    labels.replace(at, kImages.size(), "labels-idx1-ubyte");
    files.push_back({labels, path.parent_path() / labels});
  }
  return files;
}

}  // namespace

std::string data_sha256(const std::string& path) {
  std::vector<Named> files = files_of(path);
  if (files.empty()) fail(ErrorKind::not_found, "{}: no file is there", path);
  std::ranges::sort(files, {}, &Named::name);
  std::string lines;
  for (const Named& file : files) {
    const std::string digest = sha256_hex(MappedFile::open(file.path)->bytes());
    if (files.size() == 1) return digest;
    lines += fmt::format("{}  {}\n", digest, file.name);
  }
  return sha256_hex(std::as_bytes(std::span(lines)));
}

}  // namespace assay::study
