#include "pipeline/evaluate.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/error.h"
#include "base/thread_pool.h"
#include "pipeline/classifier.h"
#include "pipeline/image_errors.h"
#include "pipeline/preprocess.h"
#include "pipeline/reference_logits.h"
#include "pipeline/score.h"

namespace assay::pipeline {
namespace {

int threads_of(const EvalOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads)
    fail(ErrorKind::bad_input, "threads {}: expected 0 (all cores) ... {}", options.threads,
         kMaxThreads);
  return options.threads > 0 ? options.threads : available_cores();
}

/// Samples that are prepared together and then run in batches. Preparing and running take turns,
/// each on all cores; so a group is several images a thread, however small the batch.
class Evaluation {
 public:
  Evaluation(const Classifier& classifier, Dataset& dataset, const EvalOptions& options)
      : classifier_(classifier),
        dataset_(dataset),
        options_(options),
        pool_(threads_of(options)),
        batch_(options.batch > 0 ? options.batch : classifier.info().max_batch),
        group_(static_cast<std::size_t>(std::max(batch_, 8 * pool_.size()) / batch_ * batch_)) {
    const ModelInfo& info = classifier.info();
    if (options.batch < 0 || options.batch > info.max_batch)
      fail(ErrorKind::bad_input, "batch {}: expected 1 ... {} (the classifier's max batch)",
           options.batch, info.max_batch);
    image_bytes_ = static_cast<std::size_t>(info.input_height) *
                   static_cast<std::size_t>(info.input_width) * 3;
    rgb_.resize(group_ * image_bytes_);
    logits_.resize(static_cast<std::size_t>(batch_) * static_cast<std::size_t>(info.classes));
    if (options.reference) reference_.emplace(*options.reference, info.classes);
    if (reference_) reference_->check_size(dataset.full_size());
  }

  EvalReport run() {
    std::uint64_t done = 0;
    while (fill()) {
      prepare();
      for (std::size_t first = 0; first < ready_.size(); first += static_cast<std::size_t>(batch_))
        run_batch(first);
      done += samples_.size();
      if (options_.progress) options_.progress(done, dataset_.size());
    }
    if (done == 0)
      fail(ErrorKind::bad_input, "{}: nothing is selected to evaluate", dataset_.description());
    // Shards say how many images they hold only at their end.
    if (reference_) reference_->check_size(dataset_.full_size());
    score_.report(report_, reference_.has_value());
    return std::move(report_);
  }

 private:
  bool fill() {
    samples_.clear();
    while (samples_.size() < group_) {
      auto sample = dataset_.next();
      if (!sample) break;
      if (!sample->label)
        fail(ErrorKind::bad_input, "{}: no label, which an evaluation needs", sample->name);
      if (reference_) reference_->check_label(sample->index, *sample->label);
      samples_.push_back(std::move(*sample));
    }
    return !samples_.empty();
  }

  /// Decodes and resizes into rgb_, sample i at place i; then closes the gaps of failed images.
  void prepare() {
    std::vector<std::exception_ptr> errors(samples_.size());
    std::atomic<std::size_t> next{0};
    pool_.run([&](int) {
      for (std::size_t i = next++; i < samples_.size(); i = next++) {
        try {
          prepare_one(i);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      }
    });
    ready_.clear();
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (errors[i]) {
        record(errors[i], samples_[i].name);
        continue;
      }
      if (ready_.size() != i)
        std::copy_n(rgb_.begin() + static_cast<std::ptrdiff_t>(i * image_bytes_), image_bytes_,
                    rgb_.begin() + static_cast<std::ptrdiff_t>(ready_.size() * image_bytes_));
      ready_.push_back(i);
    }
  }

  void prepare_one(std::size_t i) {
    const image::Transform& transform = classifier_.state().bundle.transform;
    const image::DecodeOptions decode{.apply_exif_rotation = options_.exif_rotate,
                                      .transform = transform};
    const image::Image resized =
        resize_and_crop(load(samples_[i], decode), samples_[i].name, transform);
    std::ranges::copy(resized.pixels, rgb_.begin() + static_cast<std::ptrdiff_t>(i * image_bytes_));
  }

  void record(const std::exception_ptr& error, const std::string& name) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& caught) {
      if (!is_the_images_fault(caught.kind())) throw;
      report_.failed.push_back({name, caught.what()});
    }
  }

  void run_batch(std::size_t first) {
    const std::size_t count = std::min(static_cast<std::size_t>(batch_), ready_.size() - first);
    const auto classes = static_cast<std::size_t>(classifier_.info().classes);
    const std::span<float> logits(logits_.data(), count * classes);
    classifier_.run_rgb(std::span(rgb_).subspan(first * image_bytes_, count * image_bytes_),
                        static_cast<int>(count), logits);
    for (std::size_t i = 0; i < count; ++i) {
      const Sample& sample = samples_[ready_[first + i]];
      score_.add(logits.subspan(i * classes, classes), *sample.label,
                 reference_ ? reference_->row(sample.index) : std::span<const float>());
    }
  }

  const Classifier& classifier_;
  Dataset& dataset_;
  const EvalOptions& options_;
  ThreadPool pool_;
  int batch_;
  std::size_t group_;
  std::size_t image_bytes_ = 0;
  std::vector<Sample> samples_;
  std::vector<std::size_t> ready_;  ///< samples whose pixels stand in rgb_, in order
  std::vector<std::uint8_t> rgb_;
  std::vector<float> logits_;
  std::optional<ReferenceLogits> reference_;
  Score score_;
  EvalReport report_;
};

}  // namespace

EvalReport evaluate(const Classifier& classifier, Dataset& dataset, const EvalOptions& options) {
  return Evaluation(classifier, dataset, options).run();
}

}  // namespace assay::pipeline
