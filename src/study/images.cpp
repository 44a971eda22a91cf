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

std::vector<BadImage> bad_images(const DataSource& source, std::span<const std::uint64_t> positions,
                                 int threads, const std::function<void(std::size_t images)>& tick) {
  constexpr std::size_t kGroup = 64;
  ThreadPool pool(threads > 0 ? threads : available_cores());
  const auto dataset = open_at(source, positions);
  std::vector<BadImage> bad;
  for (std::size_t first = 0; first < positions.size(); first += kGroup) {
    std::vector<pipeline::Sample> samples;
    for (const std::uint64_t position :
         positions.subspan(first, std::min(kGroup, positions.size() - first)))
      samples.push_back(sample_at(source, *dataset, position));
    std::vector<std::string> messages(samples.size());
    std::vector<std::exception_ptr> errors(samples.size());
    std::atomic<std::size_t> next{0};
    pool.run([&](int) {
      for (std::size_t i = next++; i < samples.size(); i = next++) {
        try {
          static_cast<void>(pipeline::load(samples[i], {.transform = source.transform}));
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::out_of_memory || error.kind() == ErrorKind::internal)
            errors[i] = std::current_exception();
          else
            messages[i] = error.what();
        } catch (...) {
          errors[i] = std::current_exception();
        }
      }
    });
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (errors[i]) std::rethrow_exception(errors[i]);
      if (!messages[i].empty()) bad.push_back({samples[i].index, std::move(messages[i])});
    }
    if (tick) tick(samples.size());
  }
  return bad;
}

std::uint64_t count_samples(const DataSource& source) {
  return pipeline::count_samples(source.path, source.labels);
}

}  // namespace assay::study
