/// The operators that only move numbers.
#include <algorithm>

#include "backend/reference/operators.h"
#include "backend/reference/strides.h"

namespace assay::backend::reference {
namespace {

/// Copies `input`, whose `axis` starts at `from` there and at `to` in the output, `length` long.
void copy_block(const Call& call, const Tensor& input, std::size_t axis, std::int64_t from,
                std::int64_t to, std::int64_t length) {
  const std::int64_t inner = strides_of(call.dims)[axis];
  const auto outer = graph::elements(call.dims.first(axis));
  for (std::int64_t block = 0; block < outer; ++block) {
    const float* source = input.numbers.data() + (block * input.dims[axis] + from) * inner;
    std::copy_n(source, length * inner, call.out.data() + (block * call.dims[axis] + to) * inner);
  }
}

}  // namespace

void run(const graph::Concat& op, const Call& call) {
  const auto axis = static_cast<std::size_t>(op.axis);
  std::int64_t start = 0;
  for (const Tensor& part : call.inputs) {
    copy_block(call, part, axis, 0, start, part.dims[axis]);
    start += part.dims[axis];
  }
}

void run(const graph::Slice& op, const Call& call) {
  copy_block(call, call.inputs[0], static_cast<std::size_t>(op.axis), op.begin, 0,
             op.end - op.begin);
}

void run(const graph::Reshape&, const Call& call) {
  std::ranges::copy(call.inputs[0].numbers, call.out.begin());
}

void run(const graph::Transpose& op, const Call& call) {
  const auto from = strides_of(call.inputs[0].dims);
  const auto to = strides_of(call.dims);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    std::int64_t source = 0;
    for (std::size_t axis = 0; axis < call.dims.size(); ++axis) {
      const std::int64_t place = static_cast<std::int64_t>(i) / to[axis] % call.dims[axis];
      source += place * from[static_cast<std::size_t>(op.permutation[axis])];
    }
    call.out[i] = call.inputs[0].numbers[static_cast<std::size_t>(source)];
  }
}

}  // namespace assay::backend::reference
