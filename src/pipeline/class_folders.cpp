#include "pipeline/class_folders.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/error.h"
#include "pipeline/image_files.h"

namespace assay::pipeline {
namespace {

namespace fs = std::filesystem;

struct File {
  fs::path path;
  std::string name;
  int label = 0;
};

class ClassFolders : public Source {
 public:
  explicit ClassFolders(std::vector<File> files) : files_(std::move(files)) {}
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return files_.size(); }
  bool skip() override {
    if (next_ == files_.size()) return false;
    ++next_;
    return true;
  }
  std::optional<Sample> next() override {
    if (next_ == files_.size()) return std::nullopt;
    const File& file = files_[next_++];
    return Sample{0, file.name, file.label, file.path};
  }

 private:
  std::vector<File> files_;
  std::size_t next_ = 0;
};

bool hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

std::vector<std::string> sub_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !hidden(entry.path()))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// Whether all names are numbers whose order is not the names' own.
bool numbers_out_of_order(const std::vector<std::string>& names) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc{} || end != name.data() + name.size()) return false;
    numbers.push_back(number);
  }
  return !std::ranges::is_sorted(numbers);
}

std::map<std::string, int> label_folders(const fs::path& folder,
                                         const std::vector<std::string>& names,
                                         const LabelNames& labels) {
  std::map<std::string, int> indices;
  std::map<int, std::string> taken;
  std::string unknown;
  for (const std::string& name : names) {
    const auto index = labels.find(name);
    if (!index) {
      if (unknown.size() < 200) unknown += (unknown.empty() ? "" : ", ") + name;
      continue;
    }
    if (const auto [other, added] = taken.emplace(*index, name); !added)
      fail(ErrorKind::bad_input, "{}: the folders {} and {} are the same label", folder.string(),
           other->second, name);
    indices[name] = *index;
  }
  if (unknown.empty()) return indices;
  if (!indices.empty())
    fail(ErrorKind::bad_input,
         "{}: {} of {} folders have the name of a label, but these have not: {}", folder.string(),
         indices.size(), names.size(), unknown);
  if (static_cast<int>(names.size()) != labels.size())
    fail(
        ErrorKind::bad_input,
        "{}: {} class folders, but the classifier has {} labels, and no folder has the name of one "
        "({})",
        folder.string(), names.size(), labels.size(), unknown);
  if (numbers_out_of_order(names))
    fail(ErrorKind::bad_input,
         "{}: the folders are numbered, but in the order of their names 10 comes before 2: pad the "
         "numbers with zeros, or use a list",
         folder.string());
  for (std::size_t i = 0; i < names.size(); ++i) indices[names[i]] = static_cast<int>(i);
  return indices;
}

/// The images below one class folder in ImageFolder's order: by folder path, then by file name.
/// Source: torchvision/datasets/folder.py, make_dataset.
void add_images(const fs::path& root, const std::string& name, int label,
                std::vector<File>& files) {
  const auto follow = fs::directory_options::follow_directory_symlink;
  const std::size_t first = files.size();
  auto entry = fs::recursive_directory_iterator(root / name, follow);
  while (entry != fs::recursive_directory_iterator()) {
    if (entry.depth() > 32)
      fail(ErrorKind::bad_input, "{}: folders nest more than 32 deep (a link to a parent?)",
           entry->path().string());
    if (entry->is_regular_file() && has_image_extension(entry->path()))
      files.push_back({entry->path(), entry->path().lexically_relative(root).string(), label});
    const fs::path last = entry->path();  // operator++ would not say what it failed to enter
    std::error_code error;
    entry.increment(error);
    if (error) fail(ErrorKind::bad_input, "{}: {}", last.string(), error.message());
  }
  if (files.size() == first)
    fail(ErrorKind::bad_input, "{}: no image (.jpg, .jpeg, .png, .webp) in this class folder",
         (root / name).string());
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end(),
            [](const File& a, const File& b) {
              const auto key = [](const File& file) {
                return std::pair(file.path.parent_path().string(), file.path.filename().string());
              };
              return key(a) < key(b);
            });
}

}  // namespace

std::unique_ptr<Source> open_class_folders(const fs::path& folder, const LabelNames& labels) {
  const std::vector<std::string> names = sub_folders(folder);
  if (names.empty())
    fail(ErrorKind::bad_input,
         "{}: not a dataset: expected class folders, .tar shards, or an images-idx3 file in it",
         folder.string());
  const auto indices = label_folders(folder, names, labels);
  std::vector<File> files;
  for (const std::string& name : names) add_images(folder, name, indices.at(name), files);
  return std::make_unique<ClassFolders>(std::move(files));
}

}  // namespace assay::pipeline
