#include "pipeline/calibrate.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/error.h"
#include "base/thread_pool.h"
#include "graph/serialize.h"
#include "pipeline/image_errors.h"
#include "pipeline/preprocess.h"
#include "quant/observe.h"

namespace assay::pipeline {
namespace {

/// Samples that are handed out together, a worker: so that one slow image holds up few.
constexpr std::size_t kSamplesAWorker = 4;

void check(const bundle::Bundle& bundle) {
  if (bundle.precision != "fp32") {
    fail(ErrorKind::bad_input,
         "a bundle of precision {} can't be calibrated: ranges are taken from what the fp32 "
         "network computes, so build one with --precision fp32",
         bundle.precision);
  }
}

/// In the order of quant::observers(), whatever the order they were named in.
std::vector<std::string> observers_of(const CalibrateOptions& options) {
  const auto known = quant::observers();
  for (const std::string& observer : options.observers) {
    if (std::ranges::find(known, observer) == known.end()) {
      fail(ErrorKind::unsupported, "observer '{}': this build of Assay knows {}", observer,
           fmt::join(known, ", "));
    }
  }
  std::vector<std::string> observers;
  for (const std::string_view observer : known) {
    const bool wanted = options.observers.empty() ||
                        std::ranges::find(options.observers, observer) != options.observers.end();
    if (wanted) observers.emplace_back(observer);
  }
  return observers;
}

int threads_of(const CalibrateOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    fail(ErrorKind::bad_input, "threads {}: expected 0 (all cores) ... {}", options.threads,
         kMaxThreads);
  }
  return options.threads > 0 ? options.threads : available_cores();
}

/// What became of one sample: a glimpse, or why there is none.
struct Outcome {
  std::optional<quant::Glimpse> glimpse;
  std::string unreadable;    ///< the image's own fault
  std::exception_ptr error;  ///< any other
};

class Calibrator {
 public:
  Calibrator(const bundle::Bundle& bundle, const CalibrateOptions& options)
      : bundle_(bundle),
        exif_rotate_(options.exif_rotate),
        observers_(observers_of(options)),
        pool_(threads_of(options)),
        observation_(bundle.graph, observers_, pool_.size()) {
    const auto numbers =
        static_cast<std::size_t>(graph::elements(bundle.graph->value(bundle.graph->input).dims));
    tensors_.assign(static_cast<std::size_t>(pool_.size()), std::vector<float>(numbers));
  }

  /// Takes the next few samples; how many they were, 0 at the end.
  std::uint64_t take_some(Dataset& dataset) {
    std::vector<Sample> samples;
    const auto most = static_cast<std::size_t>(pool_.size()) * kSamplesAWorker;
    while (samples.size() < most) {
      auto sample = dataset.next();
      if (!sample) break;
      samples.push_back(std::move(*sample));
    }
    std::vector<Outcome> outcomes(samples.size());
    std::atomic<std::size_t> next{0};
    pool_.run([&](int worker) {
      for (std::size_t i = next++; i < samples.size(); i = next++) {
        outcomes[i] = outcome_of(worker, samples[i]);
      }
    });
    for (std::size_t i = 0; i < samples.size(); ++i) keep(samples[i], outcomes[i]);
    return samples.size();
  }

  [[nodiscard]] const std::vector<std::string>& observers() const { return observers_; }
  [[nodiscard]] const quant::Observation& observation() const { return observation_; }
  [[nodiscard]] std::vector<FailedImage>& failed() { return failed_; }

 private:
  Outcome outcome_of(int worker, const Sample& sample) noexcept {
    Outcome outcome;
    try {
      const std::span<float> tensor = tensors_[static_cast<std::size_t>(worker)];
      if (prepare(sample, tensor, outcome)) outcome.glimpse = observation_.look(worker, tensor);
    } catch (...) {
      outcome.error = std::current_exception();
    }
    return outcome;
  }

  /// Fills the tensor; false, and the outcome says why, where the image can't be read.
  bool prepare(const Sample& sample, std::span<float> tensor, Outcome& outcome) const {
    try {
      const image::DecodeOptions decode{.apply_exif_rotation = exif_rotate_,
                                        .transform = bundle_.transform};
      const image::Image resized =
          resize_and_crop(load(sample, decode), sample.name, bundle_.transform);
      image::normalize_hwc(resized, bundle_.transform, tensor);
      return true;
    } catch (const Error& error) {
      if (!is_the_images_fault(error.kind())) throw;
      outcome.unreadable = error.what();
      return false;
    }
  }

  void keep(const Sample& sample, const Outcome& outcome) {
    if (outcome.error) rethrow(outcome.error, sample.name);
    if (outcome.glimpse) {
      observation_.add(*outcome.glimpse);
    } else {
      failed_.push_back({sample.name, outcome.unreadable});
    }
  }

  [[noreturn]] static void rethrow(const std::exception_ptr& error, const std::string& name) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& caught) {
      fail(caught.kind(), "{}: {}", name, caught.what());
    }
  }

  const bundle::Bundle& bundle_;
  bool exif_rotate_;
  std::vector<std::string> observers_;
  ThreadPool pool_;
  quant::Observation observation_;
  std::vector<std::vector<float>> tensors_;  ///< one a worker
  std::vector<FailedImage> failed_;
};

}  // namespace

CalibrateReport calibrate(const bundle::Bundle& bundle, Dataset& dataset,
                          const CalibrateOptions& options) {
  check(bundle);
  Calibrator calibrator(bundle, options);
  std::uint64_t done = 0;
  while (const std::uint64_t taken = calibrator.take_some(dataset)) {
    done += taken;
    if (options.progress) options.progress(done, dataset.size());
  }
  CalibrateReport report;
  report.failed = std::move(calibrator.failed());
  const std::uint64_t images = calibrator.observation().images();
  if (images == 0) {
    fail(ErrorKind::bad_input, "{}: no image to calibrate with{}", dataset.description(),
         report.failed.empty() ? "" : "; the first that failed: " + report.failed[0].message);
  }
  report.calibration = {bundle.provenance.architecture,
                        graph::fingerprint(*bundle.graph),
                        {calibrator.observers(), images, options.selection.stride,
                         options.selection.offset, options.selection.limit},
                        calibrator.observation().operands()};
  return report;
}

}  // namespace assay::pipeline
