#pragma once
/// What calibration images showed of each operand that may be narrow, as a value and as a file that
/// people read, compare and edit: docs/calibration-format.md.
#include <cstdint>
#include <filesystem>
#include <map>
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

/// The largest magnitude that a calibration holds. Scales are made of ranges, and what is computed
/// with them is to stay a number in fp32.
inline constexpr float kLargestMagnitude = 1e30F;

/// The format that a range is for. Some observers look for the range that suits one format best.
enum class Format : std::uint8_t { int8, e4m3 };
/// "int8", "e4m3".
std::string_view name(Format format);

/// What one operand was seen to hold.
struct OperandStats {
  std::string layer;    ///< the node's name
  std::string operand;  ///< "input"; attention has "query", "key" and "value"
  /// By range_names() of the source's observers.
  std::map<std::string, Range, std::less<>> ranges;
  /// The largest magnitude each channel (last axis) held; inputs of linear layers have it.
  std::vector<float> channel_max;
  /// The mean of each channel over images and positions; inputs of linear layers and of ungrouped
  /// convolutions have it.
  std::vector<float> channel_mean;
  bool operator==(const OperandStats&) const = default;
};

/// Where ranges come from, for whoever reads a calibration or what was built with one.
struct CalibrationSource {
  std::vector<std::string> observers;  ///< at least one, each once
  std::uint64_t images = 0;            ///< that were run, at least 1
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
  std::vector<OperandStats> operands;  ///< in execution order
  bool operator==(const Calibration&) const = default;
};

/// The observers there are: "max", "moving_average", "percentile_99.9", "percentile_99.99",
/// "percentile_99.999", "entropy", "mse".
std::vector<std::string_view> observers();

/// Under which names an observer's ranges are kept: its own, or one a format ("mse_int8",
/// "mse_e4m3") where the range depends on the format.
std::vector<std::string> range_names(std::string_view observer);

/// The range by `observer` for numbers of `format`. Throws bad_input, saying with which --observer
/// to calibrate, where there is none, and where there is no such observer.
const Range& range_of(const OperandStats& stats, std::string_view observer, Format format);

/// The operand's entry; null where there is none.
const OperandStats* find(const Calibration& calibration, std::string_view layer,
                         std::string_view operand);

/// What is wrong with `source`; empty where nothing is.
std::string problem_of(const CalibrationSource& source);

/// The file's text: a JSON object with one operand a line, so that two files can be compared line
/// by line. Equal calibrations give equal text. Throws bad_input for a name that is not UTF-8.
std::string to_text(const Calibration& calibration);

/// The inverse, for text that nobody vouches for; `what` names it in messages. Throws bad_input or
/// corrupt, and unsupported for another version or observer.
Calibration parse_calibration(std::string_view text, std::string_view what);

/// Writes to_text() under a temporary name and renames it. Throws as AtomicFile.
void write_calibration(const Calibration& calibration, const std::filesystem::path& path);

/// Throws not_found, and as parse_calibration, naming the file.
Calibration read_calibration(const std::filesystem::path& path);

}  // namespace assay::quant
