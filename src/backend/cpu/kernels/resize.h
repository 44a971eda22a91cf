#pragma once
#include <cstdint>

#include "backend/resize_table.h"

namespace assay::backend::cpu {

/// One resize, channels-last and dense; both tables are of the same mode and outlive the call.
struct ResizeArgs {
  const float* x = nullptr;  ///< images × in_height × in_width × channels
  float* y = nullptr;        ///< images × out_height × out_width × channels
  std::int64_t in_height = 0;
  std::int64_t in_width = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t channels = 0;
  const ResizeTable* rows = nullptr;     ///< in_height to out_height
  const ResizeTable* columns = nullptr;  ///< in_width to out_width
};

/// Floats of scratch that each concurrent caller of resize() needs.
std::int64_t resize_scratch_floats(const ResizeArgs& args);

/// Computes output rows [row_begin, row_end), counted over all images: row r is row
/// r % out_height of image r / out_height. Single-threaded; y must not overlap x. Each number is
/// the same however the rows are split.
void resize(const ResizeArgs& args, std::int64_t row_begin, std::int64_t row_end, float* scratch);

}  // namespace assay::backend::cpu
