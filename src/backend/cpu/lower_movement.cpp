/// Operators that only move numbers: views where the layout allows it, copies otherwise.
#include <algorithm>
#include <memory>

#include "backend/cpu/kernels/resize.h"
#include "backend/cpu/kernels/transpose.h"
#include "backend/cpu/lowering.h"

namespace assay::backend::cpu {
namespace {

bool all_ones(const graph::Dims& dims, int count) {
  return std::all_of(dims.begin(), dims.begin() + count, [](std::int64_t d) { return d == 1; });
}

std::int64_t product(const graph::Dims& dims, int begin) {
  return graph::elements(std::span(dims).subspan(static_cast<std::size_t>(begin)));
}

/// A dense place seen as `outer` rows of everything from `axis` on: how concat and slice cut it.
Place seen_from(const Place& place, const graph::Dims& dims, int axis) {
  const std::int64_t inner = product(dims, axis);
  Place seen = dense_place(place.block, place.count() / inner, inner);
  seen.offset = place.offset;
  return seen;
}

/// Columns [begin, begin + width) of a place.
Place columns_of(Place place, std::int64_t begin, std::int64_t width) {
  place.offset += begin;
  place.width = width;
  return place;
}

/// Rows [begin, begin + rows) of a place of one line.
Place rows_of(Place place, std::int64_t begin, std::int64_t rows) {
  place.offset += begin * place.row_stride;
  place.rows = rows;
  place.line_rows = rows;
  place.line_stride = rows * place.row_stride;
  place.margin_height = 0;
  place.margin_width = 0;
  return place;
}

/// The part of the concatenation at `begin`, as a place for copying into.
Place part_of(const Place& whole, const graph::Dims& dims, const graph::Dims& part, int axis,
              std::int64_t begin) {
  if (axis + 1 == static_cast<int>(dims.size())) return columns_of(whole, begin, part.back());
  const std::int64_t inner = product(dims, axis + 1);
  return columns_of(seen_from(whole, dims, axis), begin * inner,
                    part[static_cast<std::size_t>(axis)] * inner);
}

}  // namespace

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Concat& op) {
  const Place whole = lowering.place_output(node);
  const graph::Dims& dims = lowering.dims(node.output);
  const bool columns = op.axis + 1 == static_cast<int>(dims.size());
  std::int64_t begin = 0;
  for (const graph::ValueId input : node.inputs) {
    const graph::Dims& part = lowering.dims(input);
    const Place from = lowering.place_of(input);
    const Place to = part_of(whole, dims, part, op.axis, begin);
    begin += part[static_cast<std::size_t>(op.axis)];
    // A part that the layout placed lies there already.
    if (from.block == whole.block) continue;
    if (columns) {
      lowering.add_copy(node, "copy", from, to);
    } else if (from.single_line() && all_ones(dims, op.axis)) {
      const std::int64_t rows = from.rows;
      Place target = rows_of(whole, 0, rows);
      target.offset = to.offset;
      lowering.add_copy(node, "copy", from, target);
    } else {
      const Place dense = lowering.dense_place_of(input, node);
      lowering.add_copy(node, "copy", seen_from(dense, part, op.axis), to);
    }
  }
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Slice& op) {
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const std::int64_t length = op.end - op.begin;
  const Place from = lowering.place_of(node.inputs[0]);
  const bool columns = op.axis + 1 == static_cast<int>(in.size());
  if (columns || (all_ones(in, op.axis) && from.single_line())) {
    Place view;
    if (columns) {
      view = columns_of(from, op.begin, length);
    } else {
      const std::int64_t rows = product(in, op.axis + 1) / in.back();
      view = rows_of(from, op.begin * rows, length * rows);
    }
    if (lowering.fused()) {
      lowering.set_place(node.output, view);
    } else {
      lowering.add_copy(node, "copy", view, lowering.place_output(node));
    }
    return;
  }
  const Place dense = lowering.dense_place_of(node.inputs[0], node);
  const std::int64_t inner = product(in, op.axis + 1);
  const Place to = lowering.place_output(node);
  lowering.add_copy(node, "copy",
                    columns_of(seen_from(dense, in, op.axis), op.begin * inner, length * inner),
                    seen_from(to, lowering.dims(node.output), op.axis));
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Reshape&) {
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const graph::Dims& out = lowering.dims(node.output);
  const std::int64_t width = out.empty() ? 1 : out.back();
  Place from = lowering.place_of(node.inputs[0]);
  const bool same_rows = !in.empty() && in.back() == width && from.single_line();
  if (!same_rows) {
    from = lowering.dense_place_of(node.inputs[0], node);
    const Place dense = dense_place(from.block, graph::elements(out) / width, width);
    const std::int64_t offset = from.offset;
    from = dense;
    from.offset = offset;
  } else {
    from = rows_of(from, 0, from.rows);
  }
  if (lowering.fused()) {
    lowering.set_place(node.output, from);
  } else {
    lowering.add_copy(node, "copy", from, lowering.place_output(node));
  }
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Transpose& op) {
  const Place x = lowering.dense_place_of(node.inputs[0], node);
  const Place y = lowering.place_output(node);
  const TransposePlan plan = plan_transpose(lowering.dims(node.inputs[0]), op.permutation);
  lowering.add_step(node, "copy", {x, y}, [=](const RunContext& context, const Worker& worker) {
    const Range items = share(transpose_items(plan), worker);
    transpose(plan, context.read(x), context.write(y), items.begin, items.end);
  });
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Resize& op) {
  const Place x = lowering.dense_place_of(node.inputs[0], node);
  const Place y = lowering.place_output(node);
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const auto rows =
      std::make_shared<const ResizeTable>(make_resize_table(op.mode, in[0], op.height));
  const auto columns =
      std::make_shared<const ResizeTable>(make_resize_table(op.mode, in[1], op.width));
  ResizeArgs args;
  args.in_height = in[0];
  args.in_width = in[1];
  args.out_height = op.height;
  args.out_width = op.width;
  args.channels = in[2];
  args.rows = rows.get();
  args.columns = columns.get();
  Step& step =
      lowering.add_step(node, op.mode == graph::ResizeMode::bicubic ? "bicubic" : "bilinear",
                        {x, y}, [=](const RunContext& context, const Worker& worker) {
                          ResizeArgs now = args;
                          now.rows = rows.get();
                          now.columns = columns.get();
                          now.x = context.read(x);
                          now.y = context.write(y);
                          const Range lines = share(args.out_height, worker);
                          resize(now, lines.begin, lines.end, context.scratch);
                        });
  step.scratch = resize_scratch_floats(args);
}

}  // namespace assay::backend::cpu
