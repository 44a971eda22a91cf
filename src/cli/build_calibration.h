#pragma once
/// The calibration that `assay build` needs: from its file, or made on the way from images.
#include <cstdint>
#include <string>

#include "bundle/bundle.h"
#include "checkpoint/checkpoint.h"
#include "pipeline/calibrate.h"

namespace assay::cli {

/// How many images a build calibrates with, if it is told nothing else.
inline constexpr std::uint64_t kCalibrationImages = 500;

/// Whether `path` is to be read as a calibration, if only to say what is wrong with it: any file
/// that begins as JSON does, but for a .jsonl list. Never throws. What is not is taken for images.
bool meant_as_calibration(const std::string& path) noexcept;

/// Builds the checkpoint at fp32 with the same options, and runs `images` images of `data`, evenly
/// spread over it (all, where there are fewer), with the observers that `recipe` needs. Shows a
/// progress bar. Throws as its parts do.
pipeline::CalibrateReport calibrate_for(const checkpoint::Checkpoint& checkpoint,
                                        const bundle::BuildOptions& options,
                                        const quant::Recipe& recipe, const std::string& data,
                                        std::uint64_t images);

}  // namespace assay::cli
