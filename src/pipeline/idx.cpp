#include "pipeline/idx.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "pipeline/gzip.h"
#include "pipeline/image_files.h"

namespace assay::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxUnpacked = std::uint64_t{4} << 30;

/// An IDX file of unsigned bytes, unpacked where it was packed.
class IdxFile {
 public:
  IdxFile(const fs::path& path, std::uint32_t dimensions) : file_(MappedFile::open(path)) {
    bytes_ = file_->bytes();
    if (is_gzip(bytes_)) bytes_ = unpacked_ = gunzip(bytes_, kMaxUnpacked, path.string());
    const std::size_t begin = 4 + std::size_t{4} * dimensions;
    if (bytes_.size() < begin)
      fail(ErrorKind::corrupt, "{}: {} bytes are too few for an IDX header of {}", path.string(),
           bytes_.size(), begin);
    if (const std::uint32_t magic = number(0); magic != 0x800 + dimensions)
      fail(ErrorKind::bad_input,
           "{}: IDX magic number 0x{:08x}, expected 0x{:08x} (unsigned bytes in {} dimensions)",
           path.string(), magic, 0x800 + dimensions, dimensions);
    std::uint64_t expected = 1;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      sizes_.push_back(number(4 + std::size_t{4} * i));
      if (__builtin_mul_overflow(expected, sizes_.back(), &expected))
        fail(ErrorKind::corrupt, "{}: the sizes in the IDX header overflow", path.string());
    }
    bytes_ = bytes_.subspan(begin);
    if (bytes_.size() != expected)
      fail(ErrorKind::corrupt, "{}: {} bytes of data, the IDX header says {}", path.string(),
           bytes_.size(), expected);
  }

  [[nodiscard]] std::uint64_t size(std::size_t dimension) const { return sizes_[dimension]; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  [[nodiscard]] std::uint32_t number(std::size_t offset) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8 | std::to_integer<std::uint32_t>(bytes_[offset + i]);
    return value;
  }

  std::shared_ptr<const MappedFile> file_;
  std::vector<std::byte> unpacked_;
  std::span<const std::byte> bytes_;
  std::vector<std::uint64_t> sizes_;
};

class Idx : public Source {
 public:
  Idx(const fs::path& images_path, const std::optional<fs::path>& labels_path,
      const LabelNames& labels)
      : name_(images_path.filename().string()), images_(images_path, 3) {
    if (images_.size(1) == 0 || images_.size(2) == 0 || images_.size(1) > kMaxSide ||
        images_.size(2) > kMaxSide)
      fail(ErrorKind::bad_input, "{}: images of {} x {} pixels", images_path.string(),
           images_.size(1), images_.size(2));
    if (!labels_path) return;
    const IdxFile file(*labels_path, 1);
    if (file.size(0) != images_.size(0))
      fail(ErrorKind::bad_input, "{}: {} labels for {} images in {}", labels_path->string(),
           file.size(0), images_.size(0), images_path.string());
    for (const std::byte label : file.bytes())
      labels_.push_back(
          labels.check(std::to_integer<int>(label),
                       fmt::format("{}: entry {}", labels_path->string(), labels_.size())));
  }

  [[nodiscard]] std::optional<std::uint64_t> size() const override { return images_.size(0); }

  bool skip() override {
    if (next_ == images_.size(0)) return false;
    ++next_;
    return true;
  }

  std::optional<Sample> next() override {
    if (next_ == images_.size(0)) return std::nullopt;
    const std::size_t index = next_++;
    Sample sample;
    sample.name = fmt::format("{}[{}]", name_, index);
    if (!labels_.empty()) sample.label = labels_[index];
    const auto pixels = images_.size(1) * images_.size(2);
    sample.content = grey_to_rgb(images_.bytes().subspan(index * pixels, pixels));
    return sample;
  }

 private:
  static constexpr std::uint64_t kMaxSide = 1u << 14;

  /// As Pillow's convert("RGB") of mode L.
  [[nodiscard]] image::Image grey_to_rgb(std::span<const std::byte> grey) const {
    image::Image image{static_cast<int>(images_.size(2)), static_cast<int>(images_.size(1)), {}};
    image.pixels.reserve(grey.size() * 3);
    for (const std::byte value : grey)
      image.pixels.insert(image.pixels.end(), 3, std::to_integer<std::uint8_t>(value));
    return image;
  }

  std::string name_;
  IdxFile images_;
  std::vector<int> labels_;
  std::size_t next_ = 0;
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto place = text.rfind(from);
  return place == std::string::npos ? std::string() : text.replace(place, from.size(), to);
}

std::optional<fs::path> label_file(const fs::path& images) {
  std::string name = images.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  name = replaced(replaced(name, "images", "labels"), "idx3", "idx1");
  if (name.empty()) return std::nullopt;
  for (const char* suffix : {"", ".gz"})
    if (fs::path path = images.parent_path() / (name + suffix); fs::is_regular_file(path))
      return path;
  return std::nullopt;
}

}  // namespace

bool is_idx_name(const fs::path& path) {
  const std::string name = lower_case(path.filename().string());
  return name.ends_with("idx3-ubyte") || name.ends_with("idx3-ubyte.gz");
}

std::optional<fs::path> find_idx(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && is_idx_name(entry.path())) found.push_back(entry.path());
  std::ranges::sort(found);
  if (found.empty()) return std::nullopt;
  if (found.size() > 1)
    fail(ErrorKind::bad_input, "{}: several IDX image files ({}, {}): name the one you mean",
         folder.string(), found[0].filename().string(), found[1].filename().string());
  return found[0];
}

std::unique_ptr<Source> open_idx(const fs::path& images, const LabelNames& labels,
                                 bool require_labels) {
  const auto labels_path = label_file(images);
  if (!labels_path && require_labels)
    fail(ErrorKind::not_found,
         "{}: no label file beside it: expected the same name with \"labels\" for \"images\" and "
         "\"idx1\" for \"idx3\", with .gz or without",
         images.string());
  return std::make_unique<Idx>(images, labels_path, labels);
}

}  // namespace assay::pipeline
