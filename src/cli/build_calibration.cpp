#include "cli/build_calibration.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/progress.h"
#include "pipeline/dataset.h"

namespace assay::cli {

namespace {

/// The first bytes of a file; none where it can't be read.
std::string beginning_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::string begin(128, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  return begin;
}

}  // namespace

bool meant_as_calibration(const std::string& path) noexcept {
  try {
    const std::string text = beginning_of(path);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
    const bool calibration = text.find("\"assay calibration\"") != std::string::npos;
    return json && (calibration || !path.ends_with(".jsonl"));
  } catch (...) {
    return false;
  }
}

pipeline::CalibrateReport calibrate_for(const checkpoint::Checkpoint& checkpoint,
                                        const bundle::BuildOptions& options,
                                        const quant::Recipe& recipe, const std::string& data,
                                        std::uint64_t images) {
  bundle::BuildOptions wide = options;
  wide.precision = "fp32";
  wide.recipe.reset();
  wide.calibration.reset();
  const bundle::Bundle bundle = bundle::build(checkpoint, wide);
  pipeline::CalibrateOptions calibrate;
  calibrate.observers = quant::observers_of(recipe);
  calibrate.selection.stride =
      std::max<std::uint64_t>(1, pipeline::count_samples(data, bundle.labels, false) / images);
  calibrate.selection.limit = images;
  const auto dataset = pipeline::open_dataset(
      data, bundle.labels, {.selection = calibrate.selection, .require_labels = false});
  Progress bar("calibrate", dataset->size().value_or(images));
  calibrate.progress = [&bar, before = std::uint64_t{0}](std::uint64_t done, auto) mutable {
    bar.advance(done - before);
    before = done;
  };
  return pipeline::calibrate(bundle, *dataset, calibrate);
}

}  // namespace assay::cli
