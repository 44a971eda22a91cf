#include <algorithm>

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/gemm_shape.h"

namespace assay::backend::cpu {
namespace {

/// Widths of the panels that cover `units`. Three units a panel make the best tile with AVX-512 (9
/// rows × 3 vectors fill the registers) and two with AVX2; what is left over goes to the widths
/// beside it, never to a panel of one unit where two of two will do.
std::vector<int> panel_widths(std::int64_t units, const GemmShape& shape) {
  const int preferred = shape.max_units == 4 ? 3 : std::min(shape.max_units, 2);
  std::vector<int> widths;
  while (units > 0) {
    int width = static_cast<int>(std::min<std::int64_t>(units, preferred));
    if (units == preferred + 1 && preferred + 1 <= shape.max_units) width = preferred + 1;
    widths.push_back(width);
    units -= width;
  }
  return widths;
}

void pack_panel(std::span<const float> weight, std::int64_t n, std::int64_t k, std::int64_t column,
                std::int64_t width, float* out) {
  for (std::int64_t j = 0; j < std::min(width, n - column); ++j) {
    const float* const row = weight.data() + (column + j) * k;
    for (std::int64_t i = 0; i < k; ++i) out[i * width + j] = row[i];
  }
}

}  // namespace

PackedMatrix pack_matrix(std::span<const float> weight, std::span<const float> bias, std::int64_t n,
                         std::int64_t k, ConstantPool& pool) {
  PackedMatrix packed;
  packed.isa = active_isa();  // decides the shape, too, where nothing was decided before
  const GemmShape shape = gemm_shape();
  packed.k = k;
  packed.n = n;
  const std::int64_t units = (n + shape.unit - 1) / shape.unit;
  std::int64_t column = 0;
  for (const int width : panel_widths(units, shape)) {
    packed.panels.push_back({column * k, column, width});
    column += width * shape.unit;
  }
  float* const data = pool.allocate(static_cast<std::size_t>(column * k));
  for (const Panel& panel : packed.panels) {
    pack_panel(weight, n, k, panel.column, panel.units * shape.unit, data + panel.offset);
  }
  float* const padded_bias = pool.allocate(static_cast<std::size_t>(column));
  std::copy(bias.begin(), bias.end(), padded_bias);
  packed.data = data;
  packed.bias = padded_bias;
  return packed;
}

}  // namespace assay::backend::cpu
