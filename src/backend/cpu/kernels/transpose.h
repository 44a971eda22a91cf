#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace assay::backend::cpu {

/// A permuted copy, reduced to the fewest axes: neighbours that stay neighbours are merged and axes
/// of 1 dropped. Axes are the output's, outermost first.
struct TransposePlan {
  static constexpr int kMaxRank = 8;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> dims{};     ///< of the output
  std::array<std::int64_t, kMaxRank> strides{};  ///< of the same axis in the input, in elements
};

/// Plans the copy of a dense tensor of `dims` whose output axis i is input axis permutation[i], at
/// most 8 axes. A batch in front is one more axis that stays in place.
TransposePlan plan_transpose(std::span<const std::int64_t> dims, std::span<const int> permutation);

/// The items of work that transpose() is split into.
std::int64_t transpose_items(const TransposePlan& plan);

/// Copies items [item_begin, item_end) from x to y, both dense. Single-threaded; no overlap.
void transpose(const TransposePlan& plan, const float* x, float* y, std::int64_t item_begin,
               std::int64_t item_end);

}  // namespace assay::backend::cpu
