/// Linear layers and convolutions as matrix products.
#include <algorithm>
#include <memory>

#include "backend/cpu/kernels/depthwise.h"
#include "backend/cpu/lower_winograd.h"
#include "backend/cpu/lowering.h"
#include "backend/cpu/product.h"

namespace assay::backend::cpu {
namespace {

/// The strides of `place` for lines of `line_rows` rows.
void set_strides(const Place& place, std::int64_t line_rows, std::int64_t& row,
                 std::int64_t& line) {
  row = place.row_stride;
  line = place.single_line() ? line_rows * place.row_stride : place.line_stride;
}

/// The rows that a line may have so that all of `places` agree.
std::int64_t common_line(std::span<const Place> places) {
  for (const Place& place : places) {
    if (!place.single_line()) return place.line_rows;
  }
  return places.front().rows;
}

/// The place of a product's output, over its residual where that dies here.
Place place_product(Lowering& lowering, const graph::Node& node) {
  if (has_residual(node) && lowering.reuse(node, node.inputs[kResidualInput])) {
    return lowering.place_of(node.output);
  }
  return lowering.place_output(node);
}

/// The input of a convolution, with as much margin as its padding needs.
Place padded_input(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op) {
  const graph::ValueId x = node.inputs[0];
  const Place place = lowering.place_of(x);
  if (place.margin_height >= op.padding[0] && place.margin_width >= op.padding[1]) return place;
  const Place padded = lowering.new_image_place(lowering.dims(x), {op.padding[0], op.padding[1]});
  lowering.add_copy(node, "pad", place, padded);
  return padded;
}

/// Where the taps of the kernel lie from the first one, as few segments as they make.
std::vector<std::int64_t> taps_of(const graph::Conv2d& op, const graph::Dims& weight,
                                  const Place& x, std::int64_t line_stride, bool whole_rows) {
  std::vector<std::int64_t> taps;
  for (std::int64_t ky = 0; ky < weight[2]; ++ky) {
    for (std::int64_t kx = 0; kx < (whole_rows ? 1 : weight[3]); ++kx) {
      taps.push_back(ky * op.dilation[0] * line_stride + kx * op.dilation[1] * x.row_stride);
    }
  }
  return taps;
}

void lower_convolution(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op) {
  const Place x = padded_input(lowering, node, op);
  const Place y = place_product(lowering, node);
  const graph::Dims& out = lowering.dims(node.output);
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const graph::Dims& dims = lowering.dims(node.inputs[1]);

  Product product;
  product.c = y;
  product.a = x;
  if (has_residual(node)) product.residual = lowering.place_of(node.inputs[kResidualInput]);
  const std::vector<Place> places = places_of(product);
  GemmArgs& args = product.args;
  args.activation = op.activation;
  const std::int64_t line_stride = x.line_of(in[1]);
  const bool pointwise = dims[2] == 1 && dims[3] == 1 && op.stride == std::array{1, 1} &&
                         op.padding == std::array{0, 0};
  args.rows = pointwise ? common_line(places) : out[1];
  args.lines = y.rows / args.rows;
  args.a_row = op.stride[1] * x.row_stride;
  args.a_line =
      op.stride[0] * (pointwise && x.single_line() ? args.rows * x.row_stride : line_stride);
  set_strides(y, args.rows, args.c_row, args.c_line);
  if (has_residual(node)) {
    set_strides(product.residual, args.rows, args.residual_row, args.residual_line);
  }
  // Adjacent taps of a row of the kernel are adjacent in memory: one segment.
  const bool whole_rows = op.groups == 1 && op.dilation[1] == 1 && x.row_stride == x.width;
  args.segment_length = whole_rows ? dims[3] * dims[1] : dims[1];
  product.segments = std::make_shared<const std::vector<std::int64_t>>(
      taps_of(op, dims, x, line_stride, whole_rows));

  std::vector<Product> groups;
  const std::int64_t each = dims[0] / op.groups;
  for (int group = 0; group < op.groups; ++group) {
    Product part = product;
    part.a.offset += group * dims[1] - op.padding[0] * line_stride - op.padding[1] * x.row_stride;
    part.c.offset += group * each;
    if (part.residual.block >= 0) part.residual.offset += group * each;
    part.weights = pack_weights(lowering, node, channel_range(group * each, each));
    groups.push_back(std::move(part));
  }
  const std::int64_t scratch = groups.front().scratch();
  Step& step =
      lowering.add_step(node, tactic_of(node, pointwise ? "gemm" : "implicit gemm"), places,
                        [groups = std::move(groups)](const RunContext& context, Worker worker) {
                          for (const Product& group : groups) group.run(context, worker);
                        });
  step.scratch = scratch;
}

void lower_depthwise(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op) {
  const Place x = lowering.dense_place_of(node.inputs[0], node);
  Place residual;
  std::vector<Place> places{x};
  if (has_residual(node)) {
    residual = lowering.dense_place_of(node.inputs[kResidualInput], node);
    places.push_back(residual);
  }
  const Place y = lowering.place_output(node);
  places.push_back(y);
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const graph::Dims& out = lowering.dims(node.output);
  const graph::Dims& dims = lowering.dims(node.inputs[1]);
  const std::vector<float> weight = lowering.weight(node, 1, "weight");
  const std::vector<float> bias = lowering.optional_weight(node, kBiasInput, "bias");
  float* const packed = lowering.constants().allocate(weight.size());
  pack_depthwise_weight(weight.data(), dims[0], static_cast<int>(dims[2]),
                        static_cast<int>(dims[3]), packed);
  DepthwiseArgs args;
  args.in_height = in[0];
  args.in_width = in[1];
  args.out_height = out[0];
  args.out_width = out[1];
  args.channels = out[2];
  args.kernel = {static_cast<int>(dims[2]), static_cast<int>(dims[3])};
  args.stride = op.stride;
  args.padding = op.padding;
  args.dilation = op.dilation;
  args.activation = op.activation;
  lowering.add_step(node, "depthwise", places, [=](const RunContext& context, Worker worker) {
    DepthwiseArgs now = args;
    now.x = context.read(x);
    now.y = context.write(y);
    now.weight = packed;
    now.bias = bias.empty() ? nullptr : bias.data();
    if (residual.block >= 0) now.residual = context.read(residual);
    const Range rows = share(args.out_height, worker);
    depthwise_conv(now, rows.begin, rows.end);
  });
}

}  // namespace

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op) {
  if (is_depthwise(lowering.graph(), node)) {
    lower_depthwise(lowering, node, op);
  } else if (!lowering.fused() || !lower_winograd(lowering, node, op)) {
    lower_convolution(lowering, node, op);
  }
}

Product linear_product(Lowering& lowering, const graph::Node& node, const Place& a) {
  const graph::Dims& dims = lowering.dims(node.inputs[kWeightInput]);
  Product product;
  product.a = a;
  product.c = place_product(lowering, node);
  if (has_residual(node)) product.residual = lowering.place_of(node.inputs[kResidualInput]);
  GemmArgs& args = product.args;
  args.activation = std::get<graph::Linear>(node.op).activation;
  args.rows = common_line(places_of(product));
  args.lines = product.a.rows / args.rows;
  set_strides(product.a, args.rows, args.a_row, args.a_line);
  set_strides(product.c, args.rows, args.c_row, args.c_line);
  if (has_residual(node)) {
    set_strides(product.residual, args.rows, args.residual_row, args.residual_line);
  }
  args.segment_length = dims[1];
  product.segments = std::make_shared<const std::vector<std::int64_t>>(1, 0);
  product.weights = pack_weights(lowering, node, channel_range(0, dims[0]));
  return product;
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Linear&) {
  const Product product = linear_product(lowering, node, lowering.place_of(node.inputs[0]));
  Step& step = lowering.add_step(
      node, tactic_of(node, "gemm"), places_of(product),
      [product](const RunContext& context, Worker worker) { product.run(context, worker); });
  step.scratch = product.scratch();
}

}  // namespace assay::backend::cpu
