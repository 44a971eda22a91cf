#include "backend/reference/matrix_row.h"

#include <algorithm>
#include <array>

#include "backend/reference/activation.h"

namespace assay::backend::reference {
namespace {

/// Several sums side by side: each is still added up in order, and they do not wait for each other.
constexpr std::size_t kSums = 8;

void dot_products(std::span<const double> x, const float* weight, std::array<double, kSums>& sums) {
  sums.fill(0.0);
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t n = 0; n < kSums; ++n) sums[n] += x[k] * weight[n * x.size() + k];
  }
}

double dot_product(std::span<const double> x, const float* weight) {
  double sum = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * weight[k];
  return sum;
}

float finish(const MatrixRow& row, std::size_t n, double sum) {
  if (row.bias != nullptr) sum += row.bias[n];
  sum = activate(row.activation, sum);
  if (row.residual != nullptr) sum += row.residual[n];
  return static_cast<float>(sum);
}

}  // namespace

const float* optional_numbers(const Call& call, std::size_t input, std::int64_t first) {
  const bool present = input < call.inputs.size() && call.inputs[input].present();
  return present ? call.inputs[input].numbers.data() + first : nullptr;
}

void multiply(const MatrixRow& row, std::span<float> out) {
  std::size_t n = 0;
  std::array<double, kSums> sums{};
  for (; n + kSums <= out.size(); n += kSums) {
    dot_products(row.x, row.weight + n * row.x.size(), sums);
    for (std::size_t i = 0; i < kSums; ++i) out[n + i] = finish(row, n + i, sums[i]);
  }
  for (; n < out.size(); ++n) {
    out[n] = finish(row, n, dot_product(row.x, row.weight + n * row.x.size()));
  }
}

}  // namespace assay::backend::reference
