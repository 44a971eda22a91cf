#include "pipeline/webdataset.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "pipeline/image_files.h"
#include "pipeline/tar_file.h"

namespace assay::pipeline {
namespace {

constexpr std::uint64_t kMaxImage = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxLabel = std::uint64_t{16} << 20;

/// An entry's place in its sample.
struct Part {
  std::string key;
  std::string extension;  ///< lower case
};

/// Nothing for hidden files and for names without an extension.
std::optional<Part> split(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = path.find('.', name);
  if (dot == std::string::npos || dot == name) return std::nullopt;
  return Part{path.substr(0, dot), lower_case(std::string_view(path).substr(dot + 1))};
}

class Shards : public Source {
 public:
  Shards(std::vector<std::filesystem::path> shards, LabelNames labels, bool require_labels)
      : shards_(std::move(shards)), labels_(std::move(labels)), require_labels_(require_labels) {
    tar_ = std::make_unique<TarFile>(shards_[0]);
    advance();
  }

  [[nodiscard]] std::optional<std::uint64_t> size() const override { return std::nullopt; }
  bool skip() override { return gather(false).has_value(); }
  std::optional<Sample> next() override { return gather(true); }

 private:
  /// To the next part, over the ends of shards; part_ is empty behind the last.
  void advance() {
    while (true) {
      const auto name = tar_->next();
      if (name) {
        part_ = split(*name);
        if (part_) return;
      } else if (++shard_ < shards_.size()) {
        tar_ = std::make_unique<TarFile>(shards_[shard_]);
      } else {
        part_.reset();
        return;
      }
    }
  }

  [[nodiscard]] std::string where(const std::string& key) const {
    return fmt::format("{}: sample {}", tar_->path().string(), key);
  }

  /// The parts of one sample; without reading them where `load` is false.
  std::optional<Sample> gather(bool load) {
    if (!part_) return std::nullopt;
    const std::string key = part_->key;
    const std::size_t shard = shard_;
    const std::string place = where(key);
    Sample sample;
    sample.name.clear();
    std::optional<int> from_json;
    bool labelled = false;
    while (part_ && part_->key == key && shard_ == shard) {
      if (is_image_extension(part_->extension)) {
        if (!sample.name.empty())
          fail(ErrorKind::bad_input, "{}: two images ({} is the second)", place, part_->extension);
        sample.name =
            fmt::format("{}:{}.{}", tar_->path().filename().string(), key, part_->extension);
        if (load) sample.content = tar_->read(kMaxImage);
      } else if (load && part_->extension == "cls") {
        sample.label = cls_label(place);
      } else if (load && part_->extension == "json") {
        from_json = json_label(place);
      }
      labelled = labelled || part_->extension == "cls" || part_->extension == "json";
      advance();
    }
    if (!sample.label) sample.label = from_json;
    if (sample.name.empty())
      fail(ErrorKind::bad_input, "{}: no image (.jpg, .jpeg, .png or .webp)", place);
    if (require_labels_ && (load ? !sample.label : !labelled))
      fail(ErrorKind::bad_input, "{}: no label (.cls, or .json with a field \"label\")", place);
    return sample;
  }

  std::string text(std::uint64_t limit) {
    const std::vector<std::byte> bytes = tar_->read(limit);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  int cls_label(const std::string& place) {
    constexpr const char* kSpace = " \t\r\n";
    const std::string content = text(kMaxLabel);
    const std::size_t begin = content.find_first_not_of(kSpace);
    const std::size_t end = content.find_last_not_of(kSpace);
    if (begin == std::string::npos) fail(ErrorKind::bad_input, "{}: the .cls is empty", place);
    return labels_.parse(std::string_view(content).substr(begin, end - begin + 1), place);
  }

  std::optional<int> json_label(const std::string& place) {
    const Json json = parse_json(text(kMaxLabel), place);
    if (!json.is_object() || !json.contains("label")) return std::nullopt;
    return labels_.parse_json(json["label"], place);
  }

  std::vector<std::filesystem::path> shards_;
  LabelNames labels_;
  bool require_labels_;
  std::size_t shard_ = 0;
  std::unique_ptr<TarFile> tar_;
  std::optional<Part> part_;
};

}  // namespace

std::unique_ptr<Source> open_shards(std::vector<std::filesystem::path> shards, LabelNames labels,
                                    bool require_labels) {
  for (const std::filesystem::path& shard : shards)
    if (!std::filesystem::is_regular_file(shard))
      fail(ErrorKind::not_found, "{}: no such shard", shard.string());
  return std::make_unique<Shards>(std::move(shards), std::move(labels), require_labels);
}

}  // namespace assay::pipeline
