#pragma once
/// What calibration images showed of each product's input, as a value and as a file that people
/// read, compare and edit: docs/calibration-format.md.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::quant {

/// Closed, finite, low ≤ high.
struct Range {
  float low = 0;
  float high = 0;
  bool operator==(const Range&) const = default;
};

/// What one product's input 0 was seen to hold.
struct LayerRange {
  std::string layer;  ///< the node's name
  Range input;
  bool operator==(const LayerRange&) const = default;
};

/// Where ranges come from, for whoever reads a calibration or what was built with one.
struct CalibrationSource {
  std::string observer;      ///< "max"
  std::uint64_t images = 0;  ///< that were run, at least 1
  /// Which images of the data: those at offset, offset + stride, ..., `limit` at most (0: all).
  std::uint64_t stride = 1;
  std::uint64_t offset = 0;
  std::uint64_t limit = 0;
  bool operator==(const CalibrationSource&) const = default;
};

struct Calibration {
  std::string architecture;
  std::string graph;  ///< graph::fingerprint of the fp32 graph that was run
  CalibrationSource source;
  std::vector<LayerRange> layers;  ///< one a product, in execution order
  bool operator==(const Calibration&) const = default;
};

/// The observers there are.
std::vector<std::string_view> observers();

/// What is wrong with `source`; empty where nothing is.
std::string problem_of(const CalibrationSource& source);

/// The file's text: a JSON object with one layer a line, so that two files can be compared line by
/// line. Equal calibrations give equal text.
std::string to_text(const Calibration& calibration);

/// The inverse, for text that nobody vouches for; `what` names it in messages. Throws bad_input or
/// corrupt, and unsupported for another version or observer.
Calibration parse_calibration(std::string_view text, std::string_view what);

/// Writes to_text() under a temporary name and renames it. Throws as AtomicFile.
void write_calibration(const Calibration& calibration, const std::filesystem::path& path);

/// Throws not_found, and as parse_calibration, naming the file.
Calibration read_calibration(const std::filesystem::path& path);

}  // namespace assay::quant
