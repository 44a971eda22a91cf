#include <algorithm>
#include <cmath>

#include "backend/reference/operators.h"
#include "numerics/bf16.h"

namespace assay::backend::reference {
namespace {

/// One head's part of one row.
using Row = std::span<const float>;

double dot(Row a, Row b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

/// Turns scores into weights that add up to one.
void softmax(std::span<double> scores) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0.0;
  for (double& score : scores) {
    score = std::exp(score - largest);
    sum += score;
  }
  for (double& score : scores) score /= sum;
}

void round_to_bf16(std::span<double> numbers) {
  for (double& number : numbers) {
    number = numerics::Bf16::decode(numerics::Bf16::encode(static_cast<float>(number)));
  }
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
      softmax(scores);
      if (call.precision == graph::Precision::bf16) round_to_bf16(scores);
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
