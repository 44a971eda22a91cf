#pragma once
/// What MobileNetV2's block is in either precision: where it reads and writes, and its rows
/// computed a strip at a time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "backend/cpu/place.h"
#include "backend/cpu/step.h"

namespace assay::backend::cpu {

class Lowering;

inline constexpr int kFilterRows = 3;  ///< of the depthwise kernel

/// Where a worker's share reads and writes.
struct BlockImages {
  Place x, y, residual;
  const float* in = nullptr;
  float* out = nullptr;
  const float* residual_in = nullptr;
};

/// Strips of output rows, and the widened rows that each needs.
struct Strips {
  int stride = 1;
  std::int64_t height = 1;  ///< output rows of a strip

  /// The widened rows that so many output rows need.
  [[nodiscard]] std::int64_t wide_rows(std::int64_t rows) const {
    return (rows - 1) * stride + kFilterRows;
  }

  /// The highest strip, of `most` rows or less, for which `fits(rows)` says so.
  template <class Fits>
  void grow(std::int64_t most, const Fits& fits) {
    while (height < most && fits(height + 1)) ++height;
  }

  /// Computes output rows of `rows`. The widened rows that two strips share are moved, not computed
  /// again: move(from, count) brings `count` of them to the front; widen(rows, at) computes `rows`
  /// of the widened image, the first of them the strip's row `at`; finish(rows) makes output rows.
  template <class Move, class Widen, class Finish>
  void run(const Range& rows, const Move& move, const Widen& widen, const Finish& finish) const {
    Range held{0, 0};  // the widened rows that are there
    for (std::int64_t row = rows.begin; row < rows.end; row += height) {
      const std::int64_t count = std::min(height, rows.end - row);
      const std::int64_t begin = row * stride - 1;
      const Range needed{begin, begin + wide_rows(count)};
      std::int64_t kept = 0;
      if (held.size() > 0 && held.end > begin) {
        kept = held.end - begin;
        move(begin - held.begin, kept);
      }
      widen(Range{begin + kept, needed.end}, kept);
      held = needed;
      finish(Range{row, row + count});
    }
  }
};

/// Adds the step of the block whose first node is `first`: `run` computes output rows with
/// `scratch` floats of memory of its own.
void add_block_step(
    Lowering& lowering, std::size_t first, std::string_view tactic, std::int64_t out_height,
    std::int64_t scratch,
    std::function<void(const BlockImages& images, const Range& rows, float* memory)> run);

}  // namespace assay::backend::cpu
