#include "backend/reference/matrix_row.h"
#include "backend/reference/operators.h"

namespace assay::backend::reference {

void run(const graph::Linear& op, const Call& call) {
  const auto x = call.inputs[0].numbers;
  const Tensor& weight = call.inputs[1];
  const auto columns = static_cast<std::size_t>(weight.dims[0]);
  const auto depth = static_cast<std::size_t>(weight.dims[1]);
  for (std::size_t row = 0; row < x.size() / depth; ++row) {
    const auto tokens = x.subspan(row * depth, depth);
    call.scratch.assign(tokens.begin(), tokens.end());
    const std::size_t at = row * columns;
    multiply({call.scratch, weight.numbers.data(), optional_numbers(call, graph::kBiasInput, 0),
              optional_numbers(call, graph::kResidualInput, static_cast<std::int64_t>(at)),
              op.activation},
             call.out.subspan(at, columns));
  }
}

}  // namespace assay::backend::reference
