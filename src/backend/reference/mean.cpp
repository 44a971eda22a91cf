#include <algorithm>

#include "backend/reference/operators.h"
#include "backend/reference/strides.h"

namespace assay::backend::reference {

void run(const graph::Mean& op, const Call& call) {
  const Tensor& x = call.inputs[0];
  const auto from = strides_of(x.dims);
  const auto to = strides_of(call.dims);
  call.scratch.assign(call.out.size(), 0.0);
  for (std::size_t i = 0; i < x.numbers.size(); ++i) {
    std::int64_t target = 0;
    std::size_t kept = 0;
    for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
      if (std::ranges::find(op.axes, static_cast<int>(axis)) != op.axes.end()) continue;
      target += static_cast<std::int64_t>(i) / from[axis] % x.dims[axis] * to[kept++];
    }
    call.scratch[static_cast<std::size_t>(target)] += x.numbers[i];
  }
  const auto count = static_cast<double>(x.numbers.size()) / static_cast<double>(call.out.size());
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    call.out[i] = static_cast<float>(call.scratch[i] / count);
  }
}

}  // namespace assay::backend::reference
