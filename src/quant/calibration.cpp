#include "quant/calibration.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace assay::quant {
namespace {

constexpr std::array<std::string_view, 7> kObservers{
    "max", "moving_average", "percentile_99.9", "percentile_99.99", "percentile_99.999", "entropy",
    "mse"};

bool is_known(std::string_view observer) {
  return std::ranges::find(kObservers, observer) != kObservers.end();
}

/// Whether it looks for another range in each format.
bool depends_on_format(std::string_view observer) {
  return observer == "entropy" || observer == "mse";
}

std::string range_name(std::string_view observer, Format format) {
  return depends_on_format(observer) ? fmt::format("{}_{}", observer, name(format))
                                     : std::string(observer);
}

}  // namespace

std::string_view name(Format format) { return format == Format::int8 ? "int8" : "e4m3"; }

std::vector<std::string_view> observers() { return {kObservers.begin(), kObservers.end()}; }

std::vector<std::string> range_names(std::string_view observer) {
  if (!depends_on_format(observer)) return {std::string(observer)};
  return {range_name(observer, Format::int8), range_name(observer, Format::e4m3)};
}

const Range& range_of(const OperandStats& stats, std::string_view observer, Format format) {
  if (!is_known(observer)) {
    fail(ErrorKind::bad_input, "there is no observer '{:.40}'; expected {}", observer,
         fmt::join(kObservers, ", "));
  }
  const auto found = stats.ranges.find(range_name(observer, format));
  if (found != stats.ranges.end()) return found->second;
  fail(ErrorKind::bad_input,
       "layer '{}': the calibration has no range of its {} by the observer '{}': calibrate with "
       "'assay calibrate --observer {}', or without --observer for all there are",
       stats.layer, stats.operand, observer, observer);
}

const OperandStats* find(const Calibration& calibration, std::string_view layer,
                         std::string_view operand) {
  const auto found = std::ranges::find_if(calibration.operands, [&](const OperandStats& stats) {
    return stats.layer == layer && stats.operand == operand;
  });
  return found == calibration.operands.end() ? nullptr : &*found;
}

std::string problem_of(const CalibrationSource& source) {
  if (source.observers.empty()) return "there needs to be an observer";
  for (std::size_t i = 0; i < source.observers.size(); ++i) {
    const std::string& observer = source.observers[i];
    if (!is_known(observer)) return fmt::format("there is no observer '{:.40}'", observer);
    if (std::find(source.observers.begin(),
                  source.observers.begin() + static_cast<std::ptrdiff_t>(i),
                  observer) != source.observers.begin() + static_cast<std::ptrdiff_t>(i)) {
      return fmt::format("the observer '{}' appears twice", observer);
    }
  }
  if (source.images == 0 || source.stride == 0) return "images and stride need to be 1 or more";
  if (source.limit != 0 && source.images > source.limit) {
    return fmt::format("{} images are more than its limit of {}", source.images, source.limit);
  }
  return "";
}

}  // namespace assay::quant
