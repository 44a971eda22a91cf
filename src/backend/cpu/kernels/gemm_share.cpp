#include <algorithm>
#include <limits>

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/gemm_shape.h"

namespace assay::backend::cpu {
namespace {

/// Time of the slowest worker, in multiply-adds of one row and one unit, when rows are split
/// `row_parts` ways and panels `panel_parts` ways. A split also makes each worker read what others
/// read: a panel read again costs about as much as multiplying two rows by it, a row of A as much
/// as half a unit.
double cost(std::int64_t rows, std::int64_t panels, int row_parts, int panel_parts, double units) {
  const auto most = [](std::int64_t count, int parts) {
    const std::int64_t rounded_up = (count + parts - 1) / parts;
    return static_cast<double>(rounded_up);
  };
  const double my_rows = most(rows, row_parts);
  const double my_units = most(panels, panel_parts) * units;
  return my_rows * my_units + 2.0 * my_units + 0.5 * my_rows;
}

}  // namespace

GemmShare gemm_share(const PackedMatrix& b, const GemmArgs& args, int worker, int workers) {
  const std::int64_t rows = args.lines * args.rows;
  const std::int64_t panels = static_cast<std::int64_t>(b.panels.size());
  const double units = static_cast<double>(b.n) / static_cast<double>(panels) / 16.0;
  int panel_parts = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int parts = 1; parts <= workers; ++parts) {
    if (workers % parts != 0) continue;
    const double now = cost(rows, panels, workers / parts, parts, units);
    if (now < least) {
      least = now;
      panel_parts = parts;
    }
  }
  const int row_parts = workers / panel_parts;
  const int row_part = worker / panel_parts;
  const int panel_part = worker % panel_parts;
  return {rows * row_part / row_parts, rows * (row_part + 1) / row_parts,
          panels * panel_part / panel_parts, panels * (panel_part + 1) / panel_parts};
}

}  // namespace assay::backend::cpu
