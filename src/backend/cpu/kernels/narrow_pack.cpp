// Weights are packed once, when a plan is made.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/cpu/kernels/narrow.h"
#include "backend/cpu/kernels/narrow_block.h"
#include "base/error.h"
#include "numerics/bf16.h"

namespace assay::backend::cpu {
namespace {

/// A panel is 32 columns wide, and the last 16 where that holds what is left.
std::int64_t padded_columns(std::int64_t n) { return (n + 15) / 16 * 16; }

/// Zeroed bytes of the pool's, and the floats that hold them.
template <class T>
T* allocate(ConstantPool& pool, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  return reinterpret_cast<T*>(pool.allocate((bytes + sizeof(float) - 1) / sizeof(float)));
}

/// [N][k] codes to panels of [k_padded / kGroup][columns][kGroup].
template <int kGroup, class Code, class CodeAt>
void fill_panels(const NarrowMatrix& b, Code* out, const CodeAt& code_at) {
  const std::int64_t total = padded_columns(b.n);
  for (std::int64_t n = 0; n < b.n; ++n) {
    const std::int64_t first = n / kPanelColumns * kPanelColumns;
    const std::int64_t columns = std::min<std::int64_t>(kPanelColumns, total - first);
    Code* const panel = out + first * b.k_padded;
    for (std::int64_t k = 0; k < b.k; ++k) {
      panel[(k / kGroup * columns + n - first) * kGroup + k % kGroup] = code_at(n * b.k + k);
    }
  }
}

NarrowMatrix empty_matrix(graph::Precision precision, std::int64_t n, std::int64_t k) {
  const std::int64_t step = kStepBytes / (precision == graph::Precision::bf16 ? 2 : 1);
  NarrowMatrix b;
  b.precision = precision;
  b.k = k;
  b.k_padded = (k + step - 1) / step * step;
  b.n = n;
  return b;
}

}  // namespace

NarrowMatrix pack_bf16(std::span<const float> weight, std::span<const float> bias, std::int64_t n,
                       std::int64_t k, ConstantPool& pool) {
  NarrowMatrix b = empty_matrix(graph::Precision::bf16, n, k);
  const std::int64_t columns = padded_columns(n);
  auto* const data = allocate<numerics::Bf16::Code>(pool, columns * b.k_padded);
  fill_panels<2>(b, data, [&](std::int64_t i) {
    return numerics::Bf16::encode(weight[static_cast<std::size_t>(i)]);
  });
  auto* const padded_bias = allocate<float>(pool, columns);
  std::copy(bias.begin(), bias.end(), padded_bias);
  b.data = reinterpret_cast<const std::byte*>(data);
  b.bias = padded_bias;
  return b;
}

NarrowMatrix pack_int8(std::span<const std::int8_t> weight, std::span<const float> weight_scale,
                       std::span<const float> bias, std::int64_t n, std::int64_t k,
                       const numerics::AffineU8& input, ConstantPool& pool) {
  constexpr std::int64_t kLargestProduct = 255 * 128;
  if (k > std::numeric_limits<std::int32_t>::max() / kLargestProduct) {
    fail(ErrorKind::unsupported,
         "an int8 product over {} inputs does not fit int32; at most {} can be summed", k,
         std::numeric_limits<std::int32_t>::max() / kLargestProduct);
  }
  NarrowMatrix b = empty_matrix(graph::Precision::int8, n, k);
  b.input = input;
  const std::int64_t columns = padded_columns(n);
  auto* const data = allocate<std::int8_t>(pool, columns * b.k_padded);
  fill_panels<4>(b, data, [&](std::int64_t i) { return weight[static_cast<std::size_t>(i)]; });
  auto* const padded_bias = allocate<float>(pool, columns);
  auto* const scale = allocate<float>(pool, columns);
  for (std::int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<std::size_t>(j);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += weight[static_cast<std::size_t>(j * k + i)];
    // In fp32 as the sums will meet it, so that what the zero point adds cancels.
    const float step = input.scale * weight_scale[at];
    const double constant = bias.empty() ? 0.0 : static_cast<double>(bias[at]);
    padded_bias[j] =
        static_cast<float>(constant - double{step} * static_cast<double>(sum * input.zero_point));
    scale[j] = step;
  }
  b.data = reinterpret_cast<const std::byte*>(data);
  b.bias = padded_bias;
  b.scale = scale;
  return b;
}

std::int64_t panel_count(const NarrowMatrix& b) {
  return (b.n + kPanelColumns - 1) / kPanelColumns;
}

}  // namespace assay::backend::cpu
