#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "graph/graph.h"

namespace assay::graph {
namespace {

using DimsView = std::span<const std::int64_t>;

/// One node's inputs, with the messages that a wrong one gives.
class Shapes {
 public:
  Shapes(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::bad_input, "{} '{}': {}", operator_name(node_.op), node_.name,
         fmt::format(format, std::forward<Args>(args)...));
  }

  void count(std::size_t least, std::size_t most) const {
    const std::size_t got = node_.inputs.size();
    if (got < least || got > most) {
      refuse("has {} inputs, needs {}", got,
             least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most));
    }
  }
  [[nodiscard]] std::size_t count() const { return node_.inputs.size(); }

  [[nodiscard]] bool has(std::size_t index) const {
    return index < node_.inputs.size() && node_.inputs[index] != kNone;
  }

  [[nodiscard]] const Value& value(std::size_t index) const {
    const ValueId id = node_.inputs[index];
    if (id >= graph_.values.size()) refuse("input {} is not a value of the graph", index);
    return graph_.values[id];
  }

  [[nodiscard]] DimsView dims(std::size_t index) const { return value(index).dims; }

  [[nodiscard]] DimsView of_rank(std::size_t index, std::size_t rank) const {
    const DimsView found = dims(index);
    if (found.size() != rank) {
      refuse("input {} is {}, needs rank {}", index, to_string(found), rank);
    }
    return found;
  }

  [[nodiscard]] DimsView of_rank_at_least(std::size_t index, std::size_t rank) const {
    const DimsView found = dims(index);
    if (found.size() < rank) {
      refuse("input {} is {}, needs rank {} or more", index, to_string(found), rank);
    }
    return found;
  }

  void expect(std::size_t index, const Dims& wanted) const {
    if (!std::ranges::equal(dims(index), wanted)) {
      refuse("input {} is {}, needs {}", index, to_string(dims(index)), to_string(wanted));
    }
  }

  void constant(std::size_t index) const {
    if (!value(index).constant) refuse("input {} needs to be a constant", index);
  }

  void constant(std::size_t index, const Dims& wanted) const {
    constant(index);
    expect(index, wanted);
  }

  void axis(int axis, std::size_t rank) const {
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank) {
      refuse("axis {} is outside a tensor of rank {}", axis, rank);
    }
  }

  /// The optional inputs that Conv2d and Linear share, for an output of dims `out`.
  void product_extras(const Dims& out) const {
    if (has(kBiasInput)) constant(kBiasInput, {out.back()});
    if (has(kResidualInput)) {
      expect(kResidualInput, out);
      if (value(kResidualInput).constant) refuse("the residual needs to be an activation");
    }
    if (has(kWeightScaleInput)) weight_scales(out.back());
    if (has(kTensorScaleInput)) constant(kTensorScaleInput, {1});
  }

 private:
  /// One in all, one an output channel, or one a block of each channel's weights.
  void weight_scales(std::int64_t channels) const {
    constant(kWeightScaleInput);
    const DimsView found = dims(kWeightScaleInput);
    const std::int64_t depth = elements(dims(kWeightInput)) / dims(kWeightInput)[0];
    const Dims blocks{channels, (depth + kBlock - 1) / kBlock};
    if (found.size() == 1 && (found[0] == 1 || found[0] == channels)) return;
    if (std::ranges::equal(found, blocks)) return;
    refuse("the weight's scales are {}, {}, [1] or {} are needed", to_string(found),
           to_string(Dims{channels}), to_string(blocks));
  }

  const Graph& graph_;
  const Node& node_;
};

Dims copy(DimsView dims) { return {dims.begin(), dims.end()}; }

/// Product of `dims`, or -1 where a dimension is not positive or the product passes 2^62.
std::int64_t checked_elements(DimsView dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (dim <= 0 || dim > (std::int64_t{1} << 62) / product) return -1;
    product *= dim;
  }
  return product;
}

/// torch.nn.Conv2d's output size along one axis.
std::int64_t conv_extent(const Shapes& in, const Conv2d& op, std::size_t axis, std::int64_t extent,
                         std::int64_t kernel) {
  const std::int64_t span = std::int64_t{op.dilation[axis]} * (kernel - 1) + 1;
  const std::int64_t padded = extent + 2 * std::int64_t{op.padding[axis]};
  if (padded < span) in.refuse("a kernel that spans {} does not fit an extent of {}", span, padded);
  return (padded - span) / op.stride[axis] + 1;
}

Dims infer(const Shapes& in, const Conv2d& op) {
  in.count(2, 6);
  const DimsView x = in.of_rank(0, 3);
  const DimsView weight = in.of_rank(1, 4);
  in.constant(1);
  for (const std::size_t axis : {0U, 1U}) {
    if (op.stride[axis] < 1 || op.dilation[axis] < 1 || op.padding[axis] < 0) {
      in.refuse("stride {}, dilation {} and padding {} need to be 1, 1 and 0 or more",
                op.stride[axis], op.dilation[axis], op.padding[axis]);
    }
  }
  if (op.groups < 1 || x[2] % op.groups != 0 || weight[0] % op.groups != 0 ||
      weight[1] != x[2] / op.groups) {
    in.refuse("weight {} and {} groups do not fit input {}", to_string(weight), op.groups,
              to_string(x));
  }
  Dims out{conv_extent(in, op, 0, x[0], weight[2]), conv_extent(in, op, 1, x[1], weight[3]),
           weight[0]};
  in.product_extras(out);
  return out;
}

Dims infer(const Shapes& in, const Linear&) {
  in.count(2, 6);
  const DimsView x = in.of_rank_at_least(0, 1);
  const DimsView weight = in.of_rank(1, 2);
  in.constant(1);
  if (weight[1] != x.back()) {
    in.refuse("weight {} does not fit input {}", to_string(weight), to_string(x));
  }
  Dims out = copy(x);
  out.back() = weight[0];
  in.product_extras(out);
  return out;
}

Dims normalization(const Shapes& in, std::size_t inputs, double epsilon) {
  in.count(inputs, inputs);
  const DimsView x = in.of_rank_at_least(0, 1);
  if (!(epsilon > 0.0 && epsilon < 1.0)) in.refuse("epsilon {} is not in (0, 1)", epsilon);
  for (std::size_t i = 1; i < inputs; ++i) in.constant(i, {x.back()});
  return copy(x);
}

Dims infer(const Shapes& in, const LayerNorm& op) { return normalization(in, 3, op.epsilon); }

Dims infer(const Shapes& in, const BatchNorm& op) { return normalization(in, 5, op.epsilon); }

Dims infer(const Shapes& in, const Attention& op) {
  in.count(3, 3);
  const DimsView q = in.of_rank_at_least(0, 2);
  const DimsView k = in.of_rank_at_least(1, 2);
  Dims key = copy(q);
  key[key.size() - 2] = k[k.size() - 2];
  in.expect(1, key);
  in.expect(2, key);
  if (op.heads < 1 || q.back() % op.heads != 0) {
    in.refuse("{} channels do not divide into {} heads", q.back(), op.heads);
  }
  if (!(op.scale > 0.0 && op.scale < 1e6)) in.refuse("scale {} is not in (0, 1e6)", op.scale);
  return copy(q);
}

Dims infer(const Shapes& in, const Activate&) {
  in.count(1, 1);
  return copy(in.dims(0));
}

/// Kernels multiply by the scale and by its inverse, both in fp32.
bool is_fp32_scale(double scale) {
  if (!(scale > 0 && scale <= std::numeric_limits<float>::max())) return false;
  const auto narrow = static_cast<float>(scale);
  return static_cast<double>(narrow) == scale && std::isfinite(1 / narrow);
}

Dims infer(const Shapes& in, const FakeQuantize& op) {
  in.count(1, 1);
  const bool unscaled = op.format == NumberFormat::fp16 || op.format == NumberFormat::bf16;
  if (unscaled ? op.scale != 1.0 : !is_fp32_scale(op.scale)) {
    in.refuse("scale {} is not {}", op.scale,
              unscaled ? "1" : "a number of fp32 above 0 whose inverse is finite");
  }
  const bool affine = op.format == NumberFormat::affine_u8;
  if (op.zero_point < 0 || op.zero_point > (affine ? 255 : 0)) {
    in.refuse("zero point {} is not {}", op.zero_point, affine ? "0 to 255" : "0");
  }
  return copy(in.dims(0));
}

Dims infer(const Shapes& in, const Softmax&) {
  in.count(1, 1);
  return copy(in.of_rank_at_least(0, 1));
}

Dims broadcast(const Shapes& in) {
  in.count(2, 2);
  const DimsView a = in.dims(0);
  const DimsView b = in.dims(1);
  const DimsView longer = a.size() >= b.size() ? a : b;
  const DimsView shorter = a.size() >= b.size() ? b : a;
  if (!std::ranges::equal(longer.last(shorter.size()), shorter)) {
    in.refuse("{} and {} are neither equal nor one the other's suffix", to_string(a), to_string(b));
  }
  return copy(longer);
}

Dims infer(const Shapes& in, const Add&) { return broadcast(in); }

Dims infer(const Shapes& in, const Mul&) { return broadcast(in); }

Dims infer(const Shapes& in, const Concat& op) {
  in.count(2, 64);
  Dims out = copy(in.dims(0));
  in.axis(op.axis, out.size());
  const auto axis = static_cast<std::size_t>(op.axis);
  for (std::size_t i = 1; i < in.count(); ++i) {
    Dims part = copy(in.of_rank(i, out.size()));
    const std::int64_t extent = std::exchange(part[axis], out[axis]);
    if (part != out) {
      in.refuse("inputs 0 {} and {} {} differ beyond axis {}", to_string(in.dims(0)), i,
                to_string(in.dims(i)), op.axis);
    }
    out[axis] += extent;
  }
  return out;
}

Dims infer(const Shapes& in, const Slice& op) {
  in.count(1, 1);
  Dims out = copy(in.dims(0));
  in.axis(op.axis, out.size());
  std::int64_t& extent = out[static_cast<std::size_t>(op.axis)];
  if (op.begin < 0 || op.end <= op.begin || op.end > extent) {
    in.refuse("[{}, {}) is not a part of an axis of {}", op.begin, op.end, extent);
  }
  extent = op.end - op.begin;
  return out;
}

Dims infer(const Shapes& in, const Reshape& op) {
  in.count(1, 1);
  if (checked_elements(op.dims) != elements(in.dims(0))) {
    in.refuse("{} does not reshape to {}", to_string(in.dims(0)), to_string(op.dims));
  }
  return op.dims;
}

Dims infer(const Shapes& in, const Transpose& op) {
  in.count(1, 1);
  const DimsView x = in.dims(0);
  std::vector<bool> seen(x.size(), false);
  if (op.permutation.size() != x.size()) {
    in.refuse("{} axes are permuted, the input is {}", op.permutation.size(), to_string(x));
  }
  Dims out;
  for (const int axis : op.permutation) {
    in.axis(axis, x.size());
    const auto index = static_cast<std::size_t>(axis);
    if (seen[index]) in.refuse("axis {} appears twice in the permutation", axis);
    seen[index] = true;
    out.push_back(x[index]);
  }
  return out;
}

Dims infer(const Shapes& in, const Resize& op) {
  in.count(1, 1);
  const DimsView x = in.of_rank(0, 3);
  if (op.height < 1 || op.width < 1) in.refuse("resizes to {} x {}", op.height, op.width);
  return {op.height, op.width, x[2]};
}

Dims infer(const Shapes& in, const Mean& op) {
  in.count(1, 1);
  Dims out = copy(in.dims(0));
  if (op.axes.empty()) in.refuse("no axes are named");
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    in.axis(op.axes[i], out.size());
    if (i > 0 && op.axes[i] <= op.axes[i - 1]) in.refuse("axes are not ascending");
  }
  for (auto axis = op.axes.rbegin(); axis != op.axes.rend(); ++axis) out.erase(out.begin() + *axis);
  return out;
}

}  // namespace

Dims infer_shape(const Graph& graph, const Node& node) {
  const Shapes in(graph, node);
  return std::visit([&](const auto& op) { return infer(in, op); }, node.op);
}

}  // namespace assay::graph
