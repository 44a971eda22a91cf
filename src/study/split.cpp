#include "study/split.h"

#include <algorithm>

#include "base/error.h"

namespace assay::study {

std::vector<std::uint64_t> positions_of(std::uint64_t samples, const SelectionSpec& selection) {
  std::vector<std::uint64_t> positions;
  for (std::uint64_t at = selection.offset; at < samples; at += selection.stride) {
    if (selection.limit != 0 && positions.size() == selection.limit) break;
    positions.push_back(at);
  }
  return positions;
}

Split split(std::uint64_t samples, const SelectionSpec& calibration,
            const SelectionSpec& held_out) {
  Split split;
  split.calibration = positions_of(samples, calibration);
  const std::vector<std::uint64_t> selected = positions_of(samples, held_out);
  std::ranges::set_difference(selected, split.calibration, std::back_inserter(split.held_out));
  split.excluded = selected.size() - split.held_out.size();
  if (split.calibration.empty() || split.held_out.empty())
    fail(
        ErrorKind::bad_input,
        "of {} images, {} are selected to calibrate and {} others are held out: a study needs both",
        samples, split.calibration.size(), split.held_out.size());
  return split;
}

bool disjoint(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i] == b[j]) return false;
    if (a[i] < b[j])
      ++i;
    else
      ++j;
  }
  return true;
}

std::vector<std::uint64_t> spread(std::span<const std::uint64_t> positions, std::uint64_t count) {
  const std::uint64_t taken = std::min<std::uint64_t>(count, positions.size());
  std::vector<std::uint64_t> spread;
  for (std::uint64_t i = 0; i < taken; ++i)
    spread.push_back(positions[i * positions.size() / taken]);
  return spread;
}

}  // namespace assay::study
