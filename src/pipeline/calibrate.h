#pragma once
/// Runs an fp32 bundle's network over calibration images and says what its layers read.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bundle/bundle.h"
#include "pipeline/dataset.h"
#include "pipeline/evaluate.h"
#include "quant/calibration.h"

namespace assay::pipeline {

struct CalibrateOptions {
  std::vector<std::string> observers;  ///< of quant::observers(), each once; none: all there are
  int threads = 0;                     ///< images run at once; 0: available_cores()
  bool exif_rotate = false;
  /// What `dataset` was opened with; it is kept in the calibration.
  Selection selection;
  /// Called now and then with the samples done and how many there will be, where known.
  std::function<void(std::uint64_t done, std::optional<std::uint64_t> total)> progress;
};

struct CalibrateReport {
  quant::Calibration calibration;
  std::vector<FailedImage> failed;  ///< images that could not be read; the rest were run
};

/// Takes images through decoding, preprocessing and the unfused network, `threads` at a time; the
/// calibration does not depend on how many. Memory is that of as many images and the observers'
/// (quant::Observation), whatever the dataset. Labels are not looked at. Throws bad_input for a
/// bundle that is not fp32, where no image is left to run, and where an operand is not finite
/// (naming image and layer), or is beyond quant::kLargestMagnitude; unsupported for an unknown
/// observer; and whatever Dataset::next throws.
CalibrateReport calibrate(const bundle::Bundle& bundle, Dataset& dataset,
                          const CalibrateOptions& options);

}  // namespace assay::pipeline
