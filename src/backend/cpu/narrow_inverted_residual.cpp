#include "backend/cpu/narrow_inverted_residual.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "backend/cpu/kernels/narrow_depthwise.h"
#include "backend/cpu/product.h"
#include "backend/cpu/strips.h"

namespace assay::backend::cpu {
namespace {

using graph::Conv2d;
using graph::Node;

constexpr std::int64_t kPackedRows = 64;  ///< of the input, at a time

/// Bytes of a worker's scratch memory, part after part.
struct Layout {
  std::int64_t widened = 0;
  std::int64_t filtered = 0;
  std::int64_t packed = 0;
  [[nodiscard]] std::int64_t floats() const {
    return (widened + filtered + packed) / static_cast<std::int64_t>(sizeof(float));
  }
};

struct Bottleneck {
  std::shared_ptr<const NarrowMatrix> expand, project;
  NarrowMatrix between;  ///< how the widened rows are packed: bf16, as for a product of their width
  const float* filter = nullptr;
  const float* filter_bias = nullptr;
  graph::Activation expand_activation, filter_activation, project_activation;
  Strips strips;
  std::int64_t in_height = 0, in_width = 0, out_height = 0, out_width = 0, wide = 0;

  [[nodiscard]] std::int64_t line_bytes() const { return in_width * between.row_bytes(); }
  [[nodiscard]] Layout layout(std::int64_t rows) const {
    const auto bytes = [](std::int64_t count, std::int64_t row_bytes) {
      return packed_floats(count, row_bytes) * static_cast<std::int64_t>(sizeof(float));
    };
    return {strips.wide_rows(rows) * line_bytes(), bytes(rows * out_width, project->row_bytes()),
            bytes(kPackedRows, expand->row_bytes())};
  }

  /// Rows [begin, end) of the widened image into `to`; rows outside the image are zero.
  void widen(const BlockImages& images, Range rows, std::byte* to, std::byte* packed) const {
    const std::int64_t first = std::clamp<std::int64_t>(rows.begin, 0, in_height);
    const std::int64_t last = std::clamp<std::int64_t>(rows.end, first, in_height);
    const auto zero = [this](std::byte* line, std::int64_t count) {
      std::memset(line, 0, static_cast<std::size_t>(count * line_bytes()));
    };
    zero(to, first - rows.begin);
    zero(to + (last - rows.begin) * line_bytes(), rows.end - last);
    if (first == last) return;
    const std::int64_t segment = 0;
    NarrowSource source;
    source.a = images.in;
    source.rows = in_width;
    source.a_line = images.x.line_of(in_width);
    source.a_row = images.x.row_stride;
    source.segment_offsets = {&segment, 1};
    source.segment_length = images.x.width;
    NarrowTarget target;
    target.packed = to + (first - rows.begin) * line_bytes();
    target.next = &between;
    target.activation = expand_activation;
    // A few rows at a time: what is packed is multiplied while it is in the first-level cache.
    for (std::int64_t row = first * in_width; row < last * in_width; row += kPackedRows) {
      const std::int64_t end = std::min(row + kPackedRows, last * in_width);
      pack_rows(*expand, source, row, end, packed);
      multiply_rows(*expand, packed, row, end, 0, panel_count(*expand), target);
      target.packed += (end - row) * between.row_bytes();
    }
  }

  void filter_rows(const std::byte* from, std::int64_t rows, std::byte* to) const {
    NarrowDepthwiseArgs args;
    args.x = from;
    args.x_pixel = between.row_bytes();
    args.y = to;
    args.next = project.get();
    args.weight = filter;
    args.bias = filter_bias;
    args.in_width = in_width;
    args.out_width = out_width;
    args.rows = rows;
    args.channels = wide;
    args.stride = strips.stride;
    args.activation = filter_activation;
    narrow_depthwise(args);
  }

  void narrow(const std::byte* from, Range rows, const BlockImages& images) const {
    NarrowTarget target;
    target.f32 = images.out;
    target.rows = out_width;
    target.line = images.y.line_of(out_width);
    target.row = images.y.row_stride;
    if (images.residual_in != nullptr) {
      target.residual = images.residual_in;
      target.residual_line = images.residual.line_of(out_width);
      target.residual_row = images.residual.row_stride;
    }
    target.activation = project_activation;
    multiply_rows(*project, from, rows.begin * out_width, rows.end * out_width, 0,
                  panel_count(*project), target);
  }

  void run(const BlockImages& images, const Range& rows, float* memory) const {
    const Layout parts = layout(strips.height);
    auto* const widened = reinterpret_cast<std::byte*>(memory);
    std::byte* const filtered = widened + parts.widened;
    std::byte* const packed = filtered + parts.filtered;
    strips.run(
        rows,
        [&](std::int64_t from, std::int64_t count) {
          std::memmove(widened, widened + from * line_bytes(),
                       static_cast<std::size_t>(count * line_bytes()));
        },
        [&](const Range& needed, std::int64_t at) {
          widen(images, needed, widened + at * line_bytes(), packed);
        },
        [&](const Range& strip) {
          filter_rows(widened, strip.size(), filtered);
          narrow(filtered, strip, images);
        });
  }
};

std::shared_ptr<const Bottleneck> make_bottleneck(Lowering& lowering, const Node& expand,
                                                  const Node& filter, const Node& project) {
  auto made = std::make_shared<Bottleneck>();
  const std::vector<float> no_bias(static_cast<std::size_t>(lowering.dims(expand.output)[2]), 0.0F);
  const graph::Dims& in = lowering.dims(expand.inputs[0]);
  const graph::Dims& out = lowering.dims(project.output);
  made->wide = lowering.dims(expand.output)[2];
  made->expand = pack_weights(lowering, expand, paired_channels(made->wide)).narrow;
  made->project = pack_weights(lowering, project, channel_range(0, out[2])).narrow;
  made->between.precision = graph::Precision::bf16;
  made->between.k = made->expand->n;  // padded to the filter's groups
  made->between.k_padded = made->expand->n;
  const std::vector<float> bias = lowering.optional_weight(filter, kBiasInput, "bias");
  made->filter =
      keep(lowering, pack_filter(lowering.weight(filter, kWeightInput, "weight"), made->wide));
  made->filter_bias = keep(lowering, pack_filter(bias.empty() ? no_bias : bias, made->wide));
  made->expand_activation = std::get<Conv2d>(expand.op).activation;
  made->filter_activation = std::get<Conv2d>(filter.op).activation;
  made->project_activation = std::get<Conv2d>(project.op).activation;
  made->strips.stride = std::get<Conv2d>(filter.op).stride[0];
  made->in_height = in[0];
  made->in_width = in[1];
  made->out_height = out[0];
  made->out_width = out[1];
  const auto bytes = [&made](std::int64_t rows) {
    return made->layout(rows).widened + made->layout(rows).filtered;
  };
  const std::int64_t in_flight = choose_bytes_in_flight(lowering, project);
  made->strips.grow(made->out_height, [&](std::int64_t rows) { return bytes(rows) <= in_flight; });
  return made;
}

}  // namespace

void lower_narrow_inverted_residual(Lowering& lowering, std::size_t first) {
  const graph::Graph& graph = lowering.graph();
  const Node& expand = graph.nodes[first];
  const Node& project = graph.nodes[first + 2];
  const auto bottleneck = make_bottleneck(lowering, expand, graph.nodes[first + 1], project);
  add_block_step(lowering, first, tactic_of(project, "inverted residual"), bottleneck->out_height,
                 bottleneck->layout(bottleneck->strips.height).floats(),
                 [bottleneck](const BlockImages& images, const Range& rows, float* memory) {
                   bottleneck->run(images, rows, memory);
                 });
}

}  // namespace assay::backend::cpu
