#include <algorithm>
#include <cmath>

#include "backend/reference/operators.h"
#include "numerics/bf16.h"
#include "numerics/e4m3.h"
#include "numerics/fp16.h"

namespace assay::backend::reference {
namespace {

/// The largest weight, exp(0), becomes E4M3's largest number.
constexpr double kFp8WeightScale = 1.0 / numerics::E4m3::largest();

/// One head's part of one row.
using Row = std::span<const float>;

double dot(Row a, Row b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

template <typename Format>
void round_scaled(std::span<double> numbers, double scale) {
  for (double& number : numbers) {
    const auto scaled = static_cast<float>(number / scale);
    number = scale * Format::decode(Format::encode(scaled));
  }
}

void round_weights(graph::Precision precision, std::span<double> weights) {
  if (precision == graph::Precision::bf16) round_scaled<numerics::Bf16>(weights, 1.0);
  if (precision == graph::Precision::fp16) round_scaled<numerics::Fp16>(weights, 1.0);
}

/// Turns scores into weights that add up to one, but for their rounding at `precision`. fp8 rounds
/// before the division: the largest is 1 then, however many keys there are.
void softmax(std::span<double> scores, graph::Precision precision) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0.0;
  for (double& score : scores) {
    score = std::exp(score - largest);
    sum += score;
  }
  if (precision == graph::Precision::fp8) round_scaled<numerics::E4m3>(scores, kFp8WeightScale);
  for (double& score : scores) score /= sum;
  round_weights(precision, scores);
}

}  // namespace

/// Source: Vaswani et al., arXiv 1706.03762, equation 1.
void run(const graph::Attention& op, const Call& call) {
  const auto last = call.dims.size() - 1;
  const auto channels = static_cast<std::size_t>(call.dims[last]);
  const auto queries = static_cast<std::size_t>(call.dims[last - 1]);
  const auto keys = static_cast<std::size_t>(call.inputs[1].dims[last - 1]);
  const auto size = channels / static_cast<std::size_t>(op.heads);
  call.scratch.resize(keys + size);
  const std::span<double> scores(call.scratch.data(), keys);
  const std::span<double> sums(call.scratch.data() + keys, size);

  for (std::size_t row = 0; row < call.out.size() / channels; ++row) {
    const std::size_t first_key = row / queries * keys;
    for (std::size_t start = 0; start < channels; start += size) {
      const auto part = [&](std::size_t input, std::size_t index) {
        return Row(call.inputs[input].numbers).subspan(index * channels + start, size);
      };
      for (std::size_t j = 0; j < keys; ++j) {
        scores[j] = op.scale * dot(part(0, row), part(1, first_key + j));
      }
      softmax(scores, call.precision);
      std::ranges::fill(sums, 0.0);
      for (std::size_t j = 0; j < keys; ++j) {
        const Row value = part(2, first_key + j);
        for (std::size_t d = 0; d < size; ++d) sums[d] += scores[j] * value[d];
      }
      for (std::size_t d = 0; d < size; ++d) {
        call.out[row * channels + start + d] = static_cast<float>(sums[d]);
      }
    }
  }
}

}  // namespace assay::backend::reference
