#include "pipeline/dataset.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "pipeline/class_folders.h"
#include "pipeline/idx.h"
#include "pipeline/list_file.h"
#include "pipeline/webdataset.h"

namespace assay::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxImageFile = std::uint64_t{1} << 30;

/// A source, of which some samples are selected.
class SelectedDataset : public Dataset {
 public:
  SelectedDataset(std::string path, std::unique_ptr<Source> source, const Selection& selection)
      : path_(std::move(path)), source_(std::move(source)), selection_(selection) {}

  [[nodiscard]] std::optional<std::uint64_t> size() const override {
    const auto all = source_->size();
    if (!all) return std::nullopt;
    const std::uint64_t behind = *all - std::min(*all, selection_.offset);
    const std::uint64_t selected = behind / selection_.stride + (behind % selection_.stride != 0);
    return selection_.limit == 0 ? selected : std::min(selected, selection_.limit);
  }

  [[nodiscard]] std::optional<std::uint64_t> full_size() const override {
    return ended_ ? position_ : source_->size();
  }

  [[nodiscard]] std::string description() const override {
    const std::string limit =
        selection_.limit == 0 ? "no limit" : fmt::format("limit {}", selection_.limit);
    const auto images = full_size();
    return fmt::format("{} ({} images; offset {}, stride {}, {})", path_,
                       images ? std::to_string(*images) : "some", selection_.offset,
                       selection_.stride, limit);
  }

  std::optional<Sample> next() override {
    if (selection_.limit != 0 && given_ == selection_.limit) return std::nullopt;
    std::uint64_t passed = given_ == 0 ? selection_.offset : selection_.stride - 1;
    for (; passed > 0; --passed, ++position_)
      if (!source_->skip()) return end();
    std::optional<Sample> sample = source_->next();
    if (!sample) return end();
    sample->index = position_++;
    ++given_;
    return sample;
  }

 private:
  std::nullopt_t end() {
    ended_ = true;
    return std::nullopt;
  }

  std::string path_;
  std::unique_ptr<Source> source_;
  Selection selection_;
  std::uint64_t position_ = 0;
  std::uint64_t given_ = 0;
  bool ended_ = false;  ///< position_ is the number of samples there are
};

std::unique_ptr<Source> open_folder(const fs::path& folder, const LabelNames& labels,
                                    const DatasetOptions& options) {
  auto shards = find_shards(folder);
  const auto idx = find_idx(folder);
  if (!shards.empty() && idx)
    fail(ErrorKind::bad_input, "{}: both .tar shards and an IDX file: name the file you mean",
         folder.string());
  if (!shards.empty()) return open_shards(std::move(shards), labels, options.require_labels);
  if (idx) return open_idx(*idx, labels, options.require_labels);
  return open_class_folders(folder, labels);
}

std::unique_ptr<Source> open_source(const std::string& path, const LabelNames& labels,
                                    const DatasetOptions& options) {
  if (fs::is_directory(path)) return open_folder(path, labels, options);
  if (!fs::exists(path) && path.find('{') == std::string::npos)
    fail(ErrorKind::not_found, "{}: no such file or folder", path);
  if (is_shard_name(path))
    return open_shards(fs::exists(path) ? std::vector<fs::path>{path} : expand_shards(path), labels,
                       options.require_labels);
  if (is_idx_name(path)) return open_idx(path, labels, options.require_labels);
  if (is_list_name(path)) return open_list(path, labels, options.require_labels);
  fail(ErrorKind::unsupported,
       "{}: not a dataset: expected a folder of class folders, .tar shards, an images-idx3-ubyte "
       "file, or a .csv or .jsonl list",
       path);
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const std::string& path, std::span<const std::string> labels,
                                      const DatasetOptions& options) {
  if (options.selection.stride == 0) fail(ErrorKind::bad_input, "stride 0: expected 1 or more");
  try {
    return std::make_unique<SelectedDataset>(path, open_source(path, LabelNames(labels), options),
                                             options.selection);
  } catch (const fs::filesystem_error& error) {
    const std::string where = error.path1().empty() ? path : error.path1().string();
    fail(ErrorKind::bad_input, "{}: {}", where, error.code().message());
  }
}

std::uint64_t count_samples(const std::string& path, std::span<const std::string> labels,
                            bool require_labels) {
  const auto dataset =
      open_dataset(path, labels, {.selection = {}, .require_labels = require_labels});
  if (const auto size = dataset->full_size()) return *size;
  std::uint64_t count = 0;
  while (dataset->next()) ++count;
  return count;
}

image::Image load(const Sample& sample, const image::DecodeOptions& options) {
  if (const auto* path = std::get_if<fs::path>(&sample.content))
    return image::decode(read_file(*path, kMaxImageFile), path->string(), options);
  if (const auto* bytes = std::get_if<std::vector<std::byte>>(&sample.content))
    return image::decode(*bytes, sample.name, options);
  return std::get<image::Image>(sample.content);
}

}  // namespace assay::pipeline
