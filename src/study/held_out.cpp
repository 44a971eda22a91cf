#include "study/held_out.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace assay::study {
namespace {

/// Images read together: enough that reading and running seldom wait for one another.
constexpr std::size_t kGroup = 64;
/// Images between two saves.
constexpr std::size_t kSaveEvery = 512;
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 34;

template <typename T>
std::vector<T> read_numbers(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  const std::vector<std::byte> bytes = read_file(file, kMaxFile);
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

template <typename T>
void write_numbers(const std::filesystem::path& path, const std::vector<T>& numbers) {
  write_file(path, std::as_bytes(std::span(numbers)));
}

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& variant) {
  return folder / (variant + ".logits");
}

}  // namespace

HeldOutLogits::HeldOutLogits(std::filesystem::path folder, std::vector<std::string> variants,
                             std::size_t classes)
    : folder_(std::move(folder)),
      variants_(std::move(variants)),
      classes_(classes),
      logits_(variants_.size()) {
  if (folder_.empty()) return;
  labels_ = read_numbers<int>(folder_ / "labels");
  // Files are saved one by one: those that are ahead are cut back to the shortest.
  std::size_t images = labels_.size();
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    logits_[i] = read_numbers<float>(file_of(folder_, variants_[i]));
    images = std::min(images, logits_[i].size() / classes_);
  }
  labels_.resize(images);
  for (std::vector<float>& logits : logits_) logits.resize(images * classes_);
}

std::span<const float> HeldOutLogits::logits(std::size_t variant) const {
  return logits_.at(variant);
}

std::span<const float> HeldOutLogits::logits(const std::string& variant) const {
  const auto found = std::ranges::find(variants_, variant);
  if (found == variants_.end()) fail(ErrorKind::internal, "no logits of '{}'", variant);
  return logits_[static_cast<std::size_t>(found - variants_.begin())];
}

void HeldOutLogits::add(std::span<const std::vector<float>> logits, std::span<const int> labels) {
  for (std::size_t i = 0; i < logits_.size(); ++i)
    logits_[i].insert(logits_[i].end(), logits[i].begin(), logits[i].end());
  labels_.insert(labels_.end(), labels.begin(), labels.end());
}

void HeldOutLogits::save() const {
  if (folder_.empty()) return;
  std::filesystem::create_directories(folder_);
  for (std::size_t i = 0; i < variants_.size(); ++i)
    write_numbers(file_of(folder_, variants_[i]), logits_[i]);
  write_numbers(folder_ / "labels", labels_);
}

namespace {

std::vector<float> run(const Classifier& classifier, const Images& images) {
  const auto classes = static_cast<std::size_t>(classifier.info().classes);
  const auto batch = static_cast<std::size_t>(classifier.info().max_batch);
  const std::size_t each = images.rgb.size() / images.count();
  std::vector<float> logits(images.count() * classes);
  for (std::size_t first = 0; first < images.count(); first += batch) {
    const std::size_t count = std::min(batch, images.count() - first);
    classifier.run_rgb(std::span(images.rgb).subspan(first * each, count * each),
                       static_cast<int>(count),
                       std::span(logits).subspan(first * classes, count * classes));
  }
  return logits;
}

}  // namespace

void run_held_out(const DataSource& source, std::span<const std::uint64_t> positions,
                  std::span<const Classifier> classifiers, int threads, HeldOutLogits& logits,
                  const std::function<void(std::size_t images)>& tick) {
  const auto left = positions.subspan(std::min(logits.images(), positions.size()));
  if (left.empty()) return;
  ImageStream stream(source, {left.begin(), left.end()}, threads);
  std::size_t unsaved = 0;
  try {
    while (true) {
      const Images images = stream.next(kGroup);
      if (images.count() == 0) break;
      std::vector<std::vector<float>> rows;
      for (const Classifier& classifier : classifiers) rows.push_back(run(classifier, images));
      logits.add(rows, images.labels);
      unsaved += images.count();
      if (unsaved >= kSaveEvery) {
        logits.save();
        unsaved = 0;
      }
      if (tick) tick(images.count());
    }
  } catch (...) {
    logits.save();
    throw;
  }
  logits.save();
}

}  // namespace assay::study
