#include "backend/reference/activation.h"

#include <cmath>
#include <numbers>

#include "backend/reference/operators.h"

namespace assay::backend::reference {

double activate(graph::Activation activation, double x) {
  switch (activation) {
    case graph::Activation::gelu:
      return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case graph::Activation::silu:
      return x / (1.0 + std::exp(-x));
    case graph::Activation::none:
      break;
  }
  return x;
}

void run(const graph::Activate& op, const Call& call) {
  const auto x = call.inputs[0].numbers;
  for (std::size_t i = 0; i < x.size(); ++i) {
    call.out[i] = static_cast<float>(activate(op.activation, x[i]));
  }
}

}  // namespace assay::backend::reference
