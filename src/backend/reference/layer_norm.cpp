#include <cmath>

#include "backend/reference/operators.h"

namespace assay::backend::reference {

/// Source: Ba, Kiros and Hinton, arXiv 1607.06450, equation 3, with torch's place for epsilon.
void run(const graph::LayerNorm& op, const Call& call) {
  const auto weight = call.inputs[1].numbers;
  const auto bias = call.inputs[2].numbers;
  const std::size_t channels = weight.size();
  for (std::size_t start = 0; start < call.out.size(); start += channels) {
    const auto x = call.inputs[0].numbers.subspan(start, channels);
    double sum = 0.0;
    for (const float number : x) sum += number;
    const double mean = sum / static_cast<double>(channels);
    double squares = 0.0;
    for (const float number : x) squares += (number - mean) * (number - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(channels) + op.epsilon);
    for (std::size_t c = 0; c < channels; ++c) {
      call.out[start + c] = static_cast<float>((x[c] - mean) / deviation * weight[c] + bias[c]);
    }
  }
}

}  // namespace assay::backend::reference
