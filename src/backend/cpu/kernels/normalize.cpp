#include "backend/cpu/kernels/normalize.h"

namespace assay::backend::cpu {

// A table and no vectors: there are 256 results a channel, each needs two divisions, and only
// divisions give the reference's bits.
RgbTable rgb_table(const std::array<float, 3>& mean, const std::array<float, 3>& std) {
  RgbTable table;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t value = 0; value < 256; ++value) {
      const float unit = static_cast<float>(value) / 255.0F;
      table[channel][value] = (unit - mean[channel]) / std[channel];
    }
  }
  return table;
}

void normalize_rgb(const std::uint8_t* rgb, float* out, std::int64_t pixels,
                   const RgbTable& table) {
  for (std::int64_t i = 0; i < pixels; ++i) {
    out[3 * i] = table[0][rgb[3 * i]];
    out[3 * i + 1] = table[1][rgb[3 * i + 1]];
    out[3 * i + 2] = table[2][rgb[3 * i + 2]];
  }
}

}  // namespace assay::backend::cpu
