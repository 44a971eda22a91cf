#include "study/images.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>

#include "base/error.h"
#include "pipeline/preprocess.h"

namespace assay::study {
namespace {

/// Opens the data set so that as little as possible is read besides `positions`.
std::unique_ptr<pipeline::Dataset> open_at(const DataSource& source,
                                           std::span<const std::uint64_t> positions) {
  std::uint64_t stride = 0;
  for (std::size_t i = 1; i < positions.size(); ++i)
    stride = std::gcd(stride, positions[i] - positions[i - 1]);
  pipeline::DatasetOptions options;
  options.selection.stride = std::max<std::uint64_t>(stride, 1);
  options.selection.offset = positions.empty() ? 0 : positions.front();
  return pipeline::open_dataset(source.path, source.labels, options);
}

pipeline::Sample sample_at(const DataSource& source, pipeline::Dataset& dataset,
                           std::uint64_t position) {
  while (auto sample = dataset.next())
    if (sample->index == position) return std::move(*sample);
  fail(ErrorKind::bad_input, "{}: there is no image {}", source.path, position);
}

}  // namespace

ImageStream::ImageStream(DataSource source, std::vector<std::uint64_t> positions, int threads)
    : source_(std::move(source)),
      positions_(std::move(positions)),
      dataset_(open_at(source_, positions_)),
      pool_(threads > 0 ? threads : available_cores()) {}

std::vector<pipeline::Sample> ImageStream::read(std::size_t count) {
  std::vector<pipeline::Sample> samples;
  for (; samples.size() < count && at_ < positions_.size(); ++at_) {
    samples.push_back(sample_at(source_, *dataset_, positions_[at_]));
    if (!samples.back().label)
      fail(ErrorKind::bad_input, "{}: no label, which a study needs", samples.back().name);
  }
  return samples;
}

Images ImageStream::next(std::size_t count) {
  const std::vector<pipeline::Sample> samples = read(count);
  const std::size_t each = static_cast<std::size_t>(source_.transform.input_height) *
                           static_cast<std::size_t>(source_.transform.input_width) * 3;
  Images images;
  images.rgb.resize(samples.size() * each);
  std::vector<std::exception_ptr> errors(samples.size());
  std::atomic<std::size_t> next{0};
  pool_.run([&](int) {
    for (std::size_t i = next++; i < samples.size(); i = next++) {
      try {
        const image::Image decoded = pipeline::load(samples[i], {.transform = source_.transform});
        const image::Image resized =
            pipeline::resize_and_crop(decoded, samples[i].name, source_.transform);
        std::ranges::copy(resized.pixels,
                          images.rgb.begin() + static_cast<std::ptrdiff_t>(i * each));
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  });
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (errors[i]) std::rethrow_exception(errors[i]);
    images.positions.push_back(samples[i].index);
    images.labels.push_back(*samples[i].label);
  }
  return images;
}

Images load_images(const DataSource& source, std::span<const std::uint64_t> positions,
                   int threads) {
  return ImageStream(source, {positions.begin(), positions.end()}, threads).next(positions.size());
}

std::vector<pipeline::Sample> load_samples(const DataSource& source,
                                           std::span<const std::uint64_t> positions) {
  const auto dataset = open_at(source, positions);
  std::vector<pipeline::Sample> samples;
  for (const std::uint64_t position : positions)
    samples.push_back(sample_at(source, *dataset, position));
  return samples;
}

std::uint64_t count_samples(const DataSource& source) {
  return pipeline::count_samples(source.path, source.labels);
}

}  // namespace assay::study
