#include "backend/reference/matrix_row.h"
#include "backend/reference/operators.h"

namespace assay::backend::reference {

void run(const graph::Linear& op, const Call& call) {
  const auto x = call.inputs[0].numbers;
  const Tensor& weight = call.inputs[1];
  const bool has_bias = call.inputs.size() > 2 && call.inputs[2].present();
  const bool has_residual = call.inputs.size() > 3 && call.inputs[3].present();
  const auto columns = static_cast<std::size_t>(weight.dims[0]);
  const auto depth = static_cast<std::size_t>(weight.dims[1]);
  for (std::size_t row = 0; row < x.size() / depth; ++row) {
    const auto tokens = x.subspan(row * depth, depth);
    call.scratch.assign(tokens.begin(), tokens.end());
    multiply(
        {call.scratch, weight.numbers.data(), has_bias ? call.inputs[2].numbers.data() : nullptr,
         has_residual ? call.inputs[3].numbers.data() + row * columns : nullptr, op.activation},
        call.out.subspan(row * columns, columns));
  }
}

}  // namespace assay::backend::reference
