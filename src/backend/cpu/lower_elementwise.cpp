/// Operators that work number by number or row by row: dense in, dense out.
#include <cmath>
#include <memory>
#include <numeric>

#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/kernels/fake_quantize.h"
#include "backend/cpu/kernels/layer_norm.h"
#include "backend/cpu/kernels/mean.h"
#include "backend/cpu/kernels/softmax.h"
#include "backend/cpu/kernels/transpose.h"
#include "backend/cpu/lowering.h"
#include "base/error.h"

namespace assay::backend::cpu {
namespace {

/// Rows are handed out to workers; `kernel(x, y, rows)` does some of them.
template <typename Kernel>
void add_row_step(Lowering& lowering, const graph::Node& node, std::string_view tactic,
                  const Kernel& kernel) {
  const Place x = lowering.dense_place_of(node.inputs[0], node);
  const Place y = lowering.reuse(node, node.inputs[0]) ? lowering.place_of(node.output)
                                                       : lowering.place_output(node);
  lowering.add_step(node, tactic, {x, y},
                    [x, y, kernel](const RunContext& context, const Worker& worker) {
                      const Range rows = share(x.rows, worker);
                      kernel(context.read(x) + rows.begin * x.width,
                             context.write(y) + rows.begin * x.width, rows.size());
                    });
}

using Binary = void (*)(const float* x, const float* y, float* out, std::int64_t count);
using Suffix = void (*)(const float* x, const float* suffix, float* out, std::int64_t rows,
                        std::int64_t width);

/// One operand may be a suffix of the other's dims, and then repeats.
void lower_binary(Lowering& lowering, const graph::Node& node, Binary binary, Suffix suffix) {
  graph::ValueId large = node.inputs[0];
  graph::ValueId small = node.inputs[1];
  if (graph::elements(lowering.dims(large)) < graph::elements(lowering.dims(small))) {
    std::swap(large, small);
  }
  const Place x = lowering.dense_place_of(large, node);
  const Place y = lowering.dense_place_of(small, node);
  const Place out =
      lowering.reuse(node, large) ? lowering.place_of(node.output) : lowering.place_output(node);
  const std::int64_t width = y.count();
  if (width == x.count()) {
    lowering.add_step(node, "vector", {x, y, out},
                      [=](const RunContext& context, const Worker& worker) {
                        const Range part = share(x.count(), worker);
                        binary(context.read(x) + part.begin, context.read(y) + part.begin,
                               context.write(out) + part.begin, part.size());
                      });
    return;
  }
  lowering.add_step(node, "vector", {x, y, out},
                    [=](const RunContext& context, const Worker& worker) {
                      const Range rows = share(x.count() / width, worker);
                      suffix(context.read(x) + rows.begin * width, context.read(y),
                             context.write(out) + rows.begin * width, rows.size(), width);
                    });
}

}  // namespace

void lower_node(Lowering& lowering, const graph::Node& node, const graph::LayerNorm& op) {
  const auto gamma = std::make_shared<const std::vector<float>>(lowering.weight(node, 1, "weight"));
  const auto beta = std::make_shared<const std::vector<float>>(lowering.weight(node, 2, "bias"));
  add_row_step(
      lowering, node, "rows",
      [=, channels = static_cast<std::int64_t>(gamma->size()),
       epsilon = static_cast<float>(op.epsilon)](const float* x, float* y, std::int64_t rows) {
        layer_norm(x, y, rows, channels, gamma->data(), beta->data(), epsilon);
      });
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::BatchNorm& op) {
  const std::vector<float> weight = lowering.weight(node, 1, "weight");
  const std::vector<float> bias = lowering.weight(node, 2, "bias");
  const std::vector<float> mean = lowering.weight(node, 3, "running_mean");
  const std::vector<float> variance = lowering.weight(node, 4, "running_var");
  auto scale = std::make_shared<std::vector<float>>(weight.size());
  auto shift = std::make_shared<std::vector<float>>(weight.size());
  for (std::size_t c = 0; c < weight.size(); ++c) {
    const double factor = weight[c] / std::sqrt(variance[c] + op.epsilon);
    (*scale)[c] = static_cast<float>(factor);
    (*shift)[c] = static_cast<float>(bias[c] - mean[c] * factor);
  }
  add_row_step(lowering, node, "rows", [=](const float* x, float* y, std::int64_t rows) {
    batch_norm(x, y, rows, static_cast<std::int64_t>(scale->size()), scale->data(), shift->data());
  });
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Activate& op) {
  const std::int64_t width =
      lowering.dims(node.output).empty() ? 1 : lowering.dims(node.output).back();
  add_row_step(lowering, node, "vector",
               [=, activation = op.activation](const float* x, float* y, std::int64_t rows) {
                 activate(activation, x, y, rows * width);
               });
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::FakeQuantize& op) {
  const std::int64_t width =
      lowering.dims(node.output).empty() ? 1 : lowering.dims(node.output).back();
  add_row_step(lowering, node, "emulated", [=](const float* x, float* y, std::int64_t rows) {
    fake_quantize(op, x, y, rows * width);
  });
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Softmax&) {
  add_row_step(lowering, node, "rows",
               [width = lowering.dims(node.output).back()](
                   const float* x, float* y, std::int64_t rows) { softmax(x, y, rows, width); });
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Add&) {
  lower_binary(lowering, node, add, add_suffix);
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Mul&) {
  lower_binary(lowering, node, mul, mul_suffix);
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Mean& op) {
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const int averaged = static_cast<int>(op.axes.size());
  std::vector<int> permutation = op.axes;
  for (int axis = 0; axis < static_cast<int>(in.size()); ++axis) {
    if (std::ranges::find(op.axes, axis) == op.axes.end()) permutation.push_back(axis);
  }
  Place x = lowering.dense_place_of(node.inputs[0], node);
  if (!std::ranges::is_sorted(permutation)) {
    // Averaged axes to the front: then the mean is one of rows.
    const Place moved = lowering.new_place(node.inputs[0]);
    const TransposePlan plan = plan_transpose(in, permutation);
    lowering.add_step(
        node, "transpose", {x, moved}, [=](const RunContext& context, const Worker& worker) {
          const Range items = share(transpose_items(plan), worker);
          transpose(plan, context.read(x), context.write(moved), items.begin, items.end);
        });
    x = moved;
  }
  std::int64_t rows = 1;
  for (int i = 0; i < averaged; ++i)
    rows *= in[static_cast<std::size_t>(op.axes[static_cast<std::size_t>(i)])];
  const std::int64_t channels = x.count() / rows;
  const Place y = lowering.place_output(node);
  lowering.add_step(node, "columns", {x, y}, [=](const RunContext& context, const Worker& worker) {
    const Range part = share(channels, worker);
    mean(context.read(x) + part.begin, channels, context.write(y) + part.begin, rows, part.size());
  });
}

}  // namespace assay::backend::cpu
