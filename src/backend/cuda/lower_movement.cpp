/// Operators that only move numbers: views where the layout allows it, copies otherwise.
#include <algorithm>
#include <utility>

#include "backend/cuda/lowering.h"
#include "backend/resize_table.h"
#include "base/error.h"

namespace assay::backend::cuda {
namespace {

constexpr std::size_t kCopyDims = 5;

/// Elements [begin, begin + length) along `axis`.
Strided part_of(Strided whole, int axis, std::int64_t begin, std::int64_t length) {
  const auto at = static_cast<std::size_t>(axis);
  whole.place.offset += begin * whole.strides[at];
  whole.dims[at] = length;
  return whole;
}

/// Axes of 1 go, and neighbours that are one run on both sides become one.
void merge_axes(Strided& from, Strided& to) {
  graph::Dims dims, from_strides, to_strides;
  for (std::size_t i = 0; i < from.dims.size(); ++i) {
    const std::int64_t count = from.dims[i];
    if (count == 1) continue;
    if (!dims.empty() && from_strides.back() == count * from.strides[i] &&
        to_strides.back() == count * to.strides[i]) {
      dims.back() *= count;
      from_strides.back() = from.strides[i];
      to_strides.back() = to.strides[i];
      continue;
    }
    dims.push_back(count);
    from_strides.push_back(from.strides[i]);
    to_strides.push_back(to.strides[i]);
  }
  from.dims = to.dims = dims;
  from.strides = from_strides;
  to.strides = to_strides;
}

/// Where a part of a concatenation at `begin` belongs, where that is rows of one stride.
Place placed_part(const Place& whole, const graph::Dims& dims, const graph::Dims& part, int axis,
                  std::int64_t begin) {
  if (axis + 1 == static_cast<int>(dims.size())) return columns_of(whole, begin, part.back());
  const std::int64_t each = whole.rows / dims[static_cast<std::size_t>(axis)];
  return rows_of(whole, begin * each, part[static_cast<std::size_t>(axis)] * each);
}

}  // namespace

Strided Lowering::strided(const Place& place, const graph::Dims& dims) {
  Strided all{place, dims, graph::Dims(dims.size(), 1)};
  std::int64_t stride = place.row_stride;
  for (std::size_t i = dims.size() - std::min<std::size_t>(dims.size(), 1); i > 0; --i) {
    all.strides[i - 1] = stride;
    stride *= dims[i - 1];
  }
  return all;
}

void Lowering::add_copy(const graph::Node& node, const Strided& from, const Strided& to) {
  Strided source = from;
  Strided target = to;
  merge_axes(source, target);
  if (source.dims.size() > kCopyDims) {
    fail(ErrorKind::unsupported, "{}: moves numbers along {} axes; the cuda backend does up to {}",
         node.name, source.dims.size(), kCopyDims);
  }
  Copy copy;
  // The last axes are the innermost ones, and unused ones stay in front.
  const std::size_t unused = kCopyDims - source.dims.size();
  for (std::size_t i = 0; i < source.dims.size(); ++i) {
    copy.dims[unused + i] = static_cast<std::int32_t>(source.dims[i]);
    copy.from_strides[unused + i] = source.strides[i];
    copy.to_strides[unused + i] = target.strides[i];
  }
  Step& step = add_step(node, "copy", {source.place}, {target.place},
                        [copy, a = source.place, b = target.place](const Addresses& at) {
                          Copy now = copy;
                          now.from = at.view(a);
                          now.to = at.view(b);
                          return Instruction(now);
                        });
  step.info.flops = 0;
  step.info.weight_bytes = 0;
}

void Lowering::add_copy(const graph::Node& node, const Place& from, const Place& to) {
  if (!from.unfolded()) {
    const graph::Dims rows{from.rows, from.width};
    add_copy(node, strided(from, rows), strided(to, rows));
    return;
  }
  const std::int64_t down = from.rows / from.map_width / from.patch;
  const std::int64_t across = from.map_width / from.patch;
  const graph::Dims dims{from.patch, from.patch, down, across, from.width};
  const std::int64_t line = from.map_width * from.row_stride;
  const Strided pixels{
      from, dims, {line, from.row_stride, from.patch * line, from.patch * from.row_stride, 1}};
  add_copy(node, pixels, strided(to, dims));
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Concat& op) {
  const Place whole = lowering.place_output(node);
  const graph::Dims& dims = lowering.dims(node.output);
  const bool rows = op.axis + 1 == static_cast<int>(dims.size()) || is_leading(dims, op.axis);
  std::int64_t begin = 0;
  for (const graph::ValueId input : node.inputs) {
    const graph::Dims& part = lowering.dims(input);
    const Place from = lowering.ordered_place_of(input, node);
    const std::int64_t length = part[static_cast<std::size_t>(op.axis)];
    const std::int64_t at = std::exchange(begin, begin + length);
    if (!rows) {
      lowering.add_copy(node, Lowering::strided(from, part),
                        part_of(Lowering::strided(whole, dims), op.axis, at, length));
      continue;
    }
    const Place to = placed_part(whole, dims, part, op.axis, at);
    // A part that the layout placed lies there already.
    if (from.block != to.block || from.offset != to.offset) lowering.add_copy(node, from, to);
  }
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Slice& op) {
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const std::int64_t length = op.end - op.begin;
  const bool columns = op.axis + 1 == static_cast<int>(in.size());
  const Place from = columns && lowering.fused() ? lowering.place_of(node.inputs[0])
                                                 : lowering.ordered_place_of(node.inputs[0], node);
  if (lowering.fused() && (columns || is_leading(in, op.axis))) {
    lowering.set_place(node.output,
                       placed_part(from, in, lowering.dims(node.output), op.axis, op.begin));
    return;
  }
  const Strided part = part_of(Lowering::strided(from, in), op.axis, op.begin, length);
  lowering.add_copy(node, part,
                    Lowering::strided(lowering.place_output(node), lowering.dims(node.output)));
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Reshape& op) {
  const std::int64_t width = width_of(op.dims);
  const bool same_rows = keeps_rows(lowering.graph(), node);
  Place from = same_rows ? lowering.ordered_place_of(node.inputs[0], node)
                         : lowering.dense_place_of(node.inputs[0], node);
  if (!same_rows) {
    from.rows = from.rows * from.width / width;
    from.width = width;
    from.row_stride = width;
  }
  if (lowering.fused()) {
    lowering.set_place(node.output, from);
  } else {
    lowering.add_copy(node, from, lowering.place_output(node));
  }
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Transpose& op) {
  const Place x = lowering.ordered_place_of(node.inputs[0], node);
  const Strided from = Lowering::strided(x, lowering.dims(node.inputs[0]));
  Strided turned{from.place, {}, {}};
  for (const int axis : op.permutation) {
    turned.dims.push_back(from.dims[static_cast<std::size_t>(axis)]);
    turned.strides.push_back(from.strides[static_cast<std::size_t>(axis)]);
  }
  lowering.add_copy(node, turned,
                    Lowering::strided(lowering.place_output(node), lowering.dims(node.output)));
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Resize& op) {
  const Place in = lowering.ordered_place_of(node.inputs[0], node);
  const bool padded = lowering.is_padded(node.inputs[0]);
  const Place out = padded ? lowering.place_image(node) : lowering.place_output(node);
  const graph::Dims& size = lowering.dims(node.inputs[0]);
  const ResizeTable rows = make_resize_table(op.mode, size[0], op.height);
  const ResizeTable columns = make_resize_table(op.mode, size[1], op.width);
  Resize resize;
  resize.in_height = static_cast<std::int32_t>(size[0]);
  resize.in_width = static_cast<std::int32_t>(size[1]);
  resize.out_height = static_cast<std::int32_t>(op.height);
  resize.out_width = static_cast<std::int32_t>(op.width);
  resize.channels = static_cast<std::int32_t>(padded ? out.row_stride : size[2]);
  resize.taps = rows.taps;
  ConstantPool& pool = lowering.constants();
  const Kept row_index = pool.keep(std::span<const std::int32_t>(rows.index));
  const Kept row_weight = pool.keep(std::span<const float>(rows.weight));
  const Kept column_index = pool.keep(std::span<const std::int32_t>(columns.index));
  const Kept column_weight = pool.keep(std::span<const float>(columns.weight));
  lowering.add_step(node, op.mode == graph::ResizeMode::bicubic ? "bicubic" : "bilinear", {in},
                    {out}, [=](const Addresses& at) {
                      Resize now = resize;
                      now.in = at.view(in);
                      now.out = at.view(out);
                      now.rows = at.kept<std::int32_t>(row_index);
                      now.row_weights = at.kept(row_weight);
                      now.columns = at.kept<std::int32_t>(column_index);
                      now.column_weights = at.kept(column_weight);
                      return Instruction(now);
                    });
}

void lower_node(Lowering& lowering, const graph::Node& node, const graph::Mean& op) {
  const graph::Dims& in = lowering.dims(node.inputs[0]);
  const int first = op.axes.front();
  const bool adjacent = op.axes.back() - first + 1 == static_cast<int>(op.axes.size());
  Place x = lowering.dense_place_of(node.inputs[0], node);
  Mean mean;
  for (int axis = 0; axis < static_cast<int>(in.size()); ++axis) {
    const auto length = static_cast<std::int32_t>(in[static_cast<std::size_t>(axis)]);
    const bool averaged = std::ranges::find(op.axes, axis) != op.axes.end();
    (averaged ? mean.count : adjacent && axis < first ? mean.outer : mean.inner) *= length;
  }
  if (!adjacent) {
    // Averaged axes to the front: then they are one.
    const Strided from = Lowering::strided(x, in);
    Strided turned{x, {}, {}};
    const auto take = [&](bool averaged) {
      for (int axis = 0; axis < static_cast<int>(in.size()); ++axis) {
        if ((std::ranges::find(op.axes, axis) != op.axes.end()) != averaged) continue;
        turned.dims.push_back(from.dims[static_cast<std::size_t>(axis)]);
        turned.strides.push_back(from.strides[static_cast<std::size_t>(axis)]);
      }
    };
    take(true);
    take(false);
    x = lowering.new_place(mean.count, mean.inner);
    lowering.add_copy(node, turned, Lowering::strided(x, turned.dims));
  }
  x.rows = static_cast<std::int64_t>(mean.outer) * mean.count;
  x.width = mean.inner;
  x.row_stride = mean.inner;
  const Place out = lowering.place_output(node);
  lowering.add_step(node, "mean", {x}, {out}, [=](const Addresses& at) {
    Mean now = mean;
    now.in = at.view(x);
    now.out = at.view(out);
    // Seen as [outer, inner], whatever rows the value has.
    now.out.row_stride = now.inner;
    return Instruction(now);
  });
}

}  // namespace assay::backend::cuda
