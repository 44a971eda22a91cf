#include <cmath>

#include "backend/reference/operators.h"

namespace assay::backend::reference {

/// Source: Ioffe and Szegedy, arXiv 1502.03167, section 3.1, with the running statistics.
void run(const graph::BatchNorm& op, const Call& call) {
  const auto x = call.inputs[0].numbers;
  const auto weight = call.inputs[1].numbers;
  const auto bias = call.inputs[2].numbers;
  const auto mean = call.inputs[3].numbers;
  const auto variance = call.inputs[4].numbers;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % weight.size();
    const double centred = static_cast<double>(x[i]) - mean[c];
    const double deviation = std::sqrt(static_cast<double>(variance[c]) + op.epsilon);
    call.out[i] = static_cast<float>(centred / deviation * weight[c] + bias[c]);
  }
}

}  // namespace assay::backend::reference
