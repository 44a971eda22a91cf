#include "backend/reference/matrix_row.h"
#include "backend/reference/operators.h"

namespace assay::backend::reference {
namespace {

struct Shape {
  std::int64_t height, width, channels;             // of the input
  std::int64_t group_channels, kernel_y, kernel_x;  // of the weight
};

/// What one group's kernel sees at one output pixel, in the weight's order: channel, row, column.
void gather(const graph::Conv2d& op, const Shape& shape, std::span<const float> x,
            std::int64_t out_y, std::int64_t out_x, std::int64_t group, std::vector<double>& seen) {
  seen.clear();
  for (std::int64_t channel = 0; channel < shape.group_channels; ++channel) {
    for (std::int64_t ky = 0; ky < shape.kernel_y; ++ky) {
      const std::int64_t y = out_y * op.stride[0] - op.padding[0] + ky * op.dilation[0];
      for (std::int64_t kx = 0; kx < shape.kernel_x; ++kx) {
        const std::int64_t across = out_x * op.stride[1] - op.padding[1] + kx * op.dilation[1];
        const bool inside = y >= 0 && y < shape.height && across >= 0 && across < shape.width;
        const std::int64_t index =
            (y * shape.width + across) * shape.channels + group * shape.group_channels + channel;
        seen.push_back(inside ? x[static_cast<std::size_t>(index)] : 0.0);
      }
    }
  }
}

}  // namespace

void run(const graph::Conv2d& op, const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& weight = call.inputs[1];
  const Shape shape{x.dims[0],      x.dims[1],      x.dims[2],
                    weight.dims[1], weight.dims[2], weight.dims[3]};
  const std::int64_t filters = weight.dims[0];
  const std::int64_t group_filters = filters / op.groups;
  const std::int64_t depth = shape.group_channels * shape.kernel_y * shape.kernel_x;
  for (std::int64_t y = 0; y < call.dims[0]; ++y) {
    for (std::int64_t across = 0; across < call.dims[1]; ++across) {
      for (std::int64_t group = 0; group < op.groups; ++group) {
        gather(op, shape, x.numbers, y, across, group, call.scratch);
        const std::int64_t filter = group * group_filters;
        const std::int64_t at = (y * call.dims[1] + across) * filters + filter;
        multiply({call.scratch, weight.numbers.data() + filter * depth,
                  optional_numbers(call, graph::kBiasInput, filter),
                  optional_numbers(call, graph::kResidualInput, at), op.activation},
                 call.out.subspan(static_cast<std::size_t>(at),
                                  static_cast<std::size_t>(group_filters)));
      }
    }
  }
}

}  // namespace assay::backend::reference
