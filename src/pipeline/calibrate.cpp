#include "pipeline/calibrate.h"

#include <algorithm>

#include "base/error.h"
#include "graph/serialize.h"
#include "pipeline/image_errors.h"
#include "pipeline/preprocess.h"
#include "quant/observe.h"

namespace assay::pipeline {
namespace {

void check(const bundle::Bundle& bundle, const CalibrateOptions& options) {
  if (bundle.precision != "fp32") {
    fail(ErrorKind::bad_input,
         "a bundle of precision {} can't be calibrated: ranges are taken from what the fp32 "
         "network computes, so build one with --precision fp32",
         bundle.precision);
  }
  const auto known = quant::observers();
  if (std::ranges::find(known, options.observer) == known.end()) {
    fail(ErrorKind::unsupported, "observer '{}': this build of Assay knows {}", options.observer,
         fmt::join(known, ", "));
  }
}

class Calibrator {
 public:
  Calibrator(const bundle::Bundle& bundle, const CalibrateOptions& options)
      : bundle_(bundle),
        observer_(bundle.graph, options.threads),
        tensor_(static_cast<std::size_t>(
            graph::elements(bundle.graph->value(bundle.graph->input).dims))) {}

  void take(const Sample& sample) {
    if (!prepare(sample)) return;
    try {
      observer_.observe(tensor_);
    } catch (const Error& error) {
      fail(error.kind(), "{}: {}", sample.name, error.what());
    }
  }

  [[nodiscard]] const quant::MaxObserver& observer() const { return observer_; }
  [[nodiscard]] std::vector<FailedImage>& failed() { return failed_; }

 private:
  /// Fills the tensor; false, and the image is noted, where it can't be read.
  bool prepare(const Sample& sample) {
    try {
      const image::Image resized =
          resize_and_crop(load(sample, image::DecodeOptions{}), sample.name, bundle_.transform);
      image::normalize_hwc(resized, bundle_.transform, tensor_);
      return true;
    } catch (const Error& error) {
      if (!is_the_images_fault(error.kind())) throw;
      failed_.push_back({sample.name, error.what()});
      return false;
    }
  }

  const bundle::Bundle& bundle_;
  quant::MaxObserver observer_;
  std::vector<float> tensor_;
  std::vector<FailedImage> failed_;
};

}  // namespace

CalibrateReport calibrate(const bundle::Bundle& bundle, Dataset& dataset,
                          const CalibrateOptions& options) {
  check(bundle, options);
  Calibrator calibrator(bundle, options);
  std::uint64_t done = 0;
  while (const auto sample = dataset.next()) {
    calibrator.take(*sample);
    if (options.progress) options.progress(++done, dataset.size());
  }
  CalibrateReport report;
  report.failed = std::move(calibrator.failed());
  const std::uint64_t images = calibrator.observer().images();
  if (images == 0) {
    fail(ErrorKind::bad_input, "{}: no image to calibrate with{}", dataset.description(),
         report.failed.empty() ? "" : "; the first that failed: " + report.failed[0].message);
  }
  report.calibration = {bundle.provenance.architecture,
                        graph::fingerprint(*bundle.graph),
                        {options.observer, images, options.selection.stride,
                         options.selection.offset, options.selection.limit},
                        calibrator.observer().layers()};
  return report;
}

}  // namespace assay::pipeline
