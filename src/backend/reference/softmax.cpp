#include <algorithm>
#include <cmath>

#include "backend/reference/operators.h"

namespace assay::backend::reference {

void run(const graph::Softmax&, const Call& call) {
  const auto length = static_cast<std::size_t>(call.dims.back());
  for (std::size_t start = 0; start < call.out.size(); start += length) {
    const auto x = call.inputs[0].numbers.subspan(start, length);
    const double largest = *std::ranges::max_element(x);
    double sum = 0.0;
    for (const float number : x) sum += std::exp(number - largest);
    for (std::size_t i = 0; i < length; ++i) {
      call.out[start + i] = static_cast<float>(std::exp(x[i] - largest) / sum);
    }
  }
}

}  // namespace assay::backend::reference
