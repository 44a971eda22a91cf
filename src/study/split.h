#pragma once
/// Which images calibrate and which are held out, position by position.
#include <cstdint>
#include <span>
#include <vector>

#include "study/spec.h"

namespace assay::study {

/// Positions that a selection takes of `samples` images, ascending; limit 0 is no limit.
std::vector<std::uint64_t> positions_of(std::uint64_t samples, const SelectionSpec& selection);

struct Split {
  std::vector<std::uint64_t> calibration;  ///< positions in the whole data set, ascending
  std::vector<std::uint64_t> held_out;     ///< selected, and not in `calibration`; ascending
  std::uint64_t excluded = 0;              ///< selected, and in `calibration`
};

/// Positions of `samples` images in all. Throws bad_input where either part is empty.
Split split(std::uint64_t samples, const SelectionSpec& calibration, const SelectionSpec& held_out);

/// Whether no position is in both, by going through both lists.
bool disjoint(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

/// `count` of the positions, evenly spread from the first on; all where there are no more.
std::vector<std::uint64_t> spread(std::span<const std::uint64_t> positions, std::uint64_t count);

}  // namespace assay::study
