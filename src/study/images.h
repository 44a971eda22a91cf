#pragma once
/// The images of a study as its networks take them.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "image/image.h"
#include "pipeline/dataset.h"

namespace assay::study {

/// What a data set is to one network.
struct DataSource {
  std::string path;                 ///< from where the program runs
  std::vector<std::string> labels;  ///< of the classifier
  image::Transform transform;
};

/// Images in the order of their positions.
struct Images {
  std::vector<std::uint64_t> positions;
  std::vector<int> labels;
  std::vector<std::uint8_t> rgb;  ///< count × H × W × 3, resized and cropped
  [[nodiscard]] std::size_t count() const { return positions.size(); }
};

/// Reads the images at some positions, group by group, decoding on several threads. For one thread.
class ImageStream {
 public:
  /// `positions` ascend. Throws as open_dataset().
  ImageStream(DataSource source, std::vector<std::uint64_t> positions, int threads);

  /// The next `count` images, fewer at the end. Throws bad_input naming the image where one can't
  /// be read or has no label: a study is of all its images or of none.
  Images next(std::size_t count);

 private:
  std::vector<pipeline::Sample> read(std::size_t count);

  DataSource source_;
  std::vector<std::uint64_t> positions_;
  std::size_t at_ = 0;
  std::unique_ptr<pipeline::Dataset> dataset_;
  ThreadPool pool_;
};

/// All of them at once.
Images load_images(const DataSource& source, std::span<const std::uint64_t> positions, int threads);

/// The samples at `positions` as the data set has them, not decoded.
std::vector<pipeline::Sample> load_samples(const DataSource& source,
                                           std::span<const std::uint64_t> positions);

struct BadImage {
  std::uint64_t position = 0;
  std::string message;  ///< names the image
};

/// Those of the images at `positions` that can't be decoded. `tick` is called with the images of
/// each group looked at; what it throws ends the check. Throws as open_dataset().
std::vector<BadImage> bad_images(const DataSource& source, std::span<const std::uint64_t> positions,
                                 int threads, const std::function<void(std::size_t images)>& tick);

/// How many samples the data set has; reads it through where it does not say.
std::uint64_t count_samples(const DataSource& source);

/// SHA-256 of the data's file; of several files (a folder's, shards, IDX images and labels) that of
/// the lines "SHA-256  NAME", in the order of their names. Of a list, the list's own.
std::string data_sha256(const std::string& path);

}  // namespace assay::study
