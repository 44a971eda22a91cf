#pragma once
/// Labelled images in the forms that people keep them in, read one after another.
///
/// What a path may be:
/// - **Class folders**: a folder with one sub-folder a class. Images (.jpg, .jpeg, .png, .webp) are
///   found at any depth below it, in the order of torchvision's ImageFolder; other files are not
///   images and are passed over. See class_folders.h for how folders become label indices.
/// - **WebDataset shards**: a .tar, a folder of them (in the order of their names), or a pattern
///   "name-{000..003}.tar". Entries "KEY.jpg|jpeg|png|webp" and "KEY.cls|json" stand side by side.
/// - **IDX**: "*images-idx3-ubyte", also with ".gz", with "*labels-idx1-ubyte" beside it; or a
///   folder that holds one such pair. Grey pixels become RGB by replication.
/// - **A list**: .csv or .jsonl with a path and a label a line; paths are relative to the list.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "image/image.h"

namespace assay::pipeline {

/// One image of a dataset, not decoded yet. Image files are read by load(), so that threads may.
struct Sample {
  std::uint64_t index = 0;   ///< in the full dataset, whatever was selected of it
  std::string name;          ///< "coat/17.png", "val-003.tar:0017.jpg", "t10k-images...:17"
  std::optional<int> label;  ///< in [0, labels); absent only where the options allow it
  /// A file to read, an encoded file's bytes, or pixels.
  std::variant<std::filesystem::path, std::vector<std::byte>, image::Image> content;
};

/// Which samples: those at offset, offset + stride, ... of the full dataset, `limit` at most.
struct Selection {
  std::uint64_t stride = 1;
  std::uint64_t offset = 0;
  std::uint64_t limit = 0;  ///< 0: no limit
};

struct DatasetOptions {
  Selection selection;
  /// Every sample must have a label. False admits datasets without any (IDX alone, a list of paths,
  /// shards of images).
  bool require_labels = true;
};

/// A stream of samples; for one thread at a time.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// Samples that next() will give in all, where that is known without reading everything.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const = 0;
  /// Samples of the full dataset, selected or not, where known: at the latest once next() has come
  /// to the data's end.
  [[nodiscard]] virtual std::optional<std::uint64_t> full_size() const = 0;
  /// The path and what is selected of it, for messages.
  [[nodiscard]] virtual std::string description() const = 0;
  /// The next selected sample, or nothing at the end. Throws bad_input or corrupt, naming file and
  /// entry, where the dataset itself is broken; an image that can't be decoded is load()'s to find.
  virtual std::optional<Sample> next() = 0;
};

/// Opens `path` as whatever it is. `labels` are the classifier's, in order. Throws not_found,
/// bad_input or unsupported, naming the file and what was expected.
std::unique_ptr<Dataset> open_dataset(const std::string& path, std::span<const std::string> labels,
                                      const DatasetOptions& options = {});

/// Samples of the whole dataset at `path`, which is read through where it does not say. Throws as
/// open_dataset() and Dataset::next().
std::uint64_t count_samples(const std::string& path, std::span<const std::string> labels,
                            bool require_labels = true);

/// The sample's pixels. Thread-safe. Throws as image::decode, and not_found for a missing file.
image::Image load(const Sample& sample, const image::DecodeOptions& options);

}  // namespace assay::pipeline
