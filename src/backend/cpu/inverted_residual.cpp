#include "backend/cpu/inverted_residual.h"

#include <algorithm>
#include <memory>

#include "backend/cpu/kernels/depthwise.h"
#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/layout.h"
#include "backend/cpu/lowering.h"
#include "backend/cpu/narrow_inverted_residual.h"
#include "backend/cpu/product.h"
#include "backend/cpu/strips.h"
#include "backend/flops.h"

namespace assay::backend::cpu {
namespace {

using graph::Conv2d;
using graph::Graph;
using graph::Node;

bool is_pointwise(const Graph& graph, const Node& node) {
  const auto* conv = std::get_if<Conv2d>(&node.op);
  if (conv == nullptr || conv->groups != 1) return false;
  const graph::Dims& kernel = graph.value(node.inputs[1]).dims;
  return kernel[2] == 1 && kernel[3] == 1 && conv->stride == std::array{1, 1} &&
         conv->padding == std::array{0, 0};
}

bool is_filter(const Graph& graph, const Node& node) {
  if (!is_depthwise(graph, node) || has_residual(node)) return false;
  const auto& conv = std::get<Conv2d>(node.op);
  const graph::Dims& kernel = graph.value(node.inputs[1]).dims;
  return kernel[2] == kFilterRows && kernel[3] == kFilterRows && conv.padding == std::array{1, 1} &&
         conv.dilation == std::array{1, 1} && conv.stride[0] == conv.stride[1] &&
         conv.stride[0] <= 2;
}

void multiply_all(const PackedMatrix& matrix, const GemmArgs& args) {
  gemm(matrix, args,
       {0, args.lines * args.rows, 0, static_cast<std::int64_t>(matrix.panels.size())});
}

/// The block's constants and sizes.
struct Bottleneck {
  PackedMatrix expand, project;
  const float* filter = nullptr;
  std::vector<float> filter_bias;
  std::vector<std::int64_t> one_segment{0};
  graph::Activation expand_activation, filter_activation, project_activation;
  Strips strips;
  std::int64_t in_height = 0, in_width = 0, out_height = 0, out_width = 0, channels = 0, wide = 0;

  [[nodiscard]] std::int64_t wide_row() const { return in_width * wide; }
  [[nodiscard]] std::int64_t scratch(std::int64_t rows) const {
    return strips.wide_rows(rows) * wide_row() + rows * out_width * wide;
  }

  /// Rows [begin, end) of the widened image into `to`; rows outside the image are zero.
  void widen(const BlockImages& images, Range rows, float* to) const {
    const std::int64_t first = std::clamp<std::int64_t>(rows.begin, 0, in_height);
    const std::int64_t last = std::clamp<std::int64_t>(rows.end, first, in_height);
    std::fill_n(to, (first - rows.begin) * wide_row(), 0.0F);
    std::fill_n(to + (last - rows.begin) * wide_row(), (rows.end - last) * wide_row(), 0.0F);
    const Place& x = images.x;
    const bool one_line = x.single_line();
    GemmArgs args;
    args.lines = one_line ? 1 : last - first;
    args.rows = (one_line ? last - first : 1) * in_width;
    args.a_row = x.row_stride;
    args.a_line = one_line ? in_width * x.row_stride : x.line_stride;
    args.a = images.in + first * args.a_line;
    args.segment_offsets = one_segment;
    args.segment_length = channels;
    args.c = to + (first - rows.begin) * wide_row();
    args.c_row = wide;
    args.c_line = wide_row();
    args.activation = expand_activation;
    if (first < last) multiply_all(expand, args);
  }

  void filter_rows(const float* from, std::int64_t rows, float* to) const {
    DepthwiseArgs args;
    args.x = from;
    args.y = to;
    args.weight = filter;
    args.bias = filter_bias.empty() ? nullptr : filter_bias.data();
    args.in_height = strips.wide_rows(rows);
    args.in_width = in_width;
    args.out_height = rows;
    args.out_width = out_width;
    args.channels = wide;
    args.stride = {strips.stride, strips.stride};
    args.padding = {0, 1};  // above and below lie rows, if only of zeros
    args.activation = filter_activation;
    depthwise_conv(args, 0, rows);
  }

  void narrow(const float* from, Range rows, const BlockImages& images) const {
    const bool residual = images.residual_in != nullptr;
    const bool one_line = images.y.single_line() && (!residual || images.residual.single_line());
    GemmArgs args;
    args.lines = one_line ? 1 : rows.size();
    args.rows = (one_line ? rows.size() : 1) * out_width;
    args.a = from;
    args.a_row = wide;
    args.a_line = out_width * wide;
    args.segment_offsets = one_segment;
    args.segment_length = wide;
    args.c_row = images.y.row_stride;
    args.c_line = images.y.line_of(out_width);
    args.c = images.out + rows.begin * args.c_line;
    if (residual) {
      args.residual_row = images.residual.row_stride;
      args.residual_line = images.residual.line_of(out_width);
      args.residual = images.residual_in + rows.begin * args.residual_line;
    }
    args.activation = project_activation;
    multiply_all(project, args);
  }

  void run(const BlockImages& images, const Range& rows, float* memory) const {
    float* const widened = memory;
    float* const filtered = memory + strips.wide_rows(strips.height) * wide_row();
    strips.run(
        rows,
        [&](std::int64_t from, std::int64_t count) {
          std::copy_n(widened + from * wide_row(), count * wide_row(), widened);
        },
        [&](const Range& needed, std::int64_t at) {
          widen(images, needed, widened + at * wide_row());
        },
        [&](const Range& strip) {
          filter_rows(widened, strip.size(), filtered);
          narrow(filtered, strip, images);
        });
  }
};

PackedMatrix pack(Lowering& lowering, const Node& node) {
  const graph::Dims& dims = lowering.dims(node.inputs[1]);
  return pack_matrix(lowering.weight(node, 1, "weight"),
                     lowering.optional_weight(node, kBiasInput, "bias"), dims[0], dims[1],
                     lowering.constants());
}

std::shared_ptr<const Bottleneck> make_bottleneck(Lowering& lowering, const Node& expand,
                                                  const Node& filter, const Node& project) {
  auto made = std::make_shared<Bottleneck>();
  made->expand = pack(lowering, expand);
  made->project = pack(lowering, project);
  const std::vector<float> taps = lowering.weight(filter, 1, "weight");
  const graph::Dims& in = lowering.dims(expand.inputs[0]);
  const graph::Dims& out = lowering.dims(project.output);
  made->wide = lowering.dims(expand.output)[2];
  float* const filter_taps = lowering.constants().allocate(taps.size());
  pack_depthwise_weight(taps.data(), made->wide, kFilterRows, kFilterRows, filter_taps);
  made->filter = filter_taps;
  made->filter_bias = lowering.optional_weight(filter, kBiasInput, "bias");
  made->expand_activation = std::get<Conv2d>(expand.op).activation;
  made->filter_activation = std::get<Conv2d>(filter.op).activation;
  made->project_activation = std::get<Conv2d>(project.op).activation;
  made->strips.stride = std::get<Conv2d>(filter.op).stride[0];
  made->in_height = in[0];
  made->in_width = in[1];
  made->channels = in[2];
  made->out_height = out[0];
  made->out_width = out[1];
  const std::int64_t in_flight =
      choose_bytes_in_flight(lowering, project) / static_cast<std::int64_t>(sizeof(float));
  made->strips.grow(made->out_height,
                    [&](std::int64_t rows) { return made->scratch(rows) <= in_flight; });
  return made;
}

}  // namespace

bool is_inverted_residual(const Graph& graph, std::size_t index) {
  if (index + 2 >= graph.nodes.size()) return false;
  const Node& expand = graph.nodes[index];
  const Node& filter = graph.nodes[index + 1];
  const Node& project = graph.nodes[index + 2];
  const bool narrow = expand.precision != graph::Precision::fp32;
  return narrow == (project.precision != graph::Precision::fp32) && is_pointwise(graph, expand) &&
         !has_residual(expand) && is_filter(graph, filter) && is_pointwise(graph, project) &&
         only_read_by(graph, expand.output, filter) && only_read_by(graph, filter.output, project);
}

void lower_inverted_residual(Lowering& lowering, std::size_t first) {
  const Graph& graph = lowering.graph();
  const Node& expand = graph.nodes[first];
  if (expand.precision != graph::Precision::fp32) {
    lower_narrow_inverted_residual(lowering, first);
    return;
  }
  const Node& project = graph.nodes[first + 2];
  const auto bottleneck = make_bottleneck(lowering, expand, graph.nodes[first + 1], project);
  add_block_step(lowering, first, "inverted residual", bottleneck->out_height,
                 bottleneck->scratch(bottleneck->strips.height),
                 [bottleneck](const BlockImages& images, const Range& rows, float* memory) {
                   bottleneck->run(images, rows, memory);
                 });
}

void add_block_step(
    Lowering& lowering, std::size_t first, std::string_view tactic, std::int64_t out_height,
    std::int64_t scratch,
    std::function<void(const BlockImages& images, const Range& rows, float* memory)> run) {
  const Graph& graph = lowering.graph();
  const Node& project = graph.nodes[first + 2];
  BlockImages images;
  images.x = lowering.place_of(graph.nodes[first].inputs[0]);
  // Never over the residual: other workers still read rows of it around theirs.
  images.y = lowering.place_output(project);
  std::vector<Place> places{images.x, images.y};
  if (has_residual(project)) {
    images.residual = lowering.place_of(project.inputs[kResidualInput]);
    places.push_back(images.residual);
  }
  Step& step = lowering.add_step(
      project, tactic, places,
      [images, out_height, run = std::move(run)](const RunContext& context, const Worker& worker) {
        BlockImages now = images;
        now.in = context.read(images.x);
        now.out = context.write(images.y);
        if (images.residual.block >= 0) now.residual_in = context.read(images.residual);
        run(now, share(out_height, worker), context.scratch);
      });
  for (std::size_t i = first; i < first + 2; ++i) {
    step.info.flops += count_flops(graph, graph.nodes[i]);
    step.info.weight_bytes += constant_bytes(graph, graph.nodes[i]);
  }
  step.serial = false;
  step.scratch = scratch;
}

}  // namespace assay::backend::cpu
