#include "graph/builder.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "image/image.h"

namespace assay::graph {
namespace {

std::string join(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// `shape` without the leading ones that `dims` does not have.
std::span<const std::int64_t> drop_leading_ones(std::span<const std::int64_t> shape,
                                                std::size_t rank) {
  while (shape.size() > rank && shape.front() == 1) shape = shape.subspan(1);
  return shape;
}

}  // namespace

struct Builder::State {
  const checkpoint::Weights& weights;
  Graph graph;
  std::map<std::string, ValueId, std::less<>> constants;  // by tensor name
  std::map<std::string, int, std::less<>> names;          // how often a node name was wanted
  std::vector<std::string> ignored_suffixes;
  std::vector<std::string> missing;
  std::vector<std::string> misshapen;

  ValueId add_value(Value value) {
    graph.values.push_back(std::move(value));
    return static_cast<ValueId>(graph.values.size() - 1);
  }

  std::string unique(const std::string& name) {
    const int count = ++names[name];
    return count == 1 ? name : fmt::format("{}_{}", name, count);
  }

  ValueId add_node(const std::string& wanted, Operator op, std::vector<ValueId> inputs,
                   Role role = Role::none) {
    Node node{unique(wanted), std::move(op), std::move(inputs)};
    node.role = role;
    Dims dims = infer_shape(graph, node);
    node.output = add_value({node.name, std::move(dims), std::nullopt});
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back().output;
  }

  ValueId tensor(const std::string& name, Dims dims);
  Constant stored(const std::string& name, const Dims& dims);
  [[nodiscard]] std::vector<std::string> unused() const;
};

/// The tensor's numbers. One that does not fit is recorded and stands in with no bytes: finish()
/// never lets such a graph out.
Constant Builder::State::stored(const std::string& name, const Dims& dims) {
  const checkpoint::TensorView* found = weights.find(name);
  if (found == nullptr) {
    missing.push_back(fmt::format("{} {}", name, to_string(dims)));
    return {};
  }
  if (!std::ranges::equal(drop_leading_ones(found->shape, dims.size()), dims)) {
    misshapen.push_back(
        fmt::format("{} is {}, needs {}", name, to_string(found->shape), to_string(dims)));
    return {};
  }
  if (!is_constant_type(found->dtype)) {
    misshapen.push_back(
        fmt::format("{} has type {}, needs a floating type", name, assay::name(found->dtype)));
    return {};
  }
  return {found->dtype, found->bytes, found->owner};
}

ValueId Builder::State::tensor(const std::string& name, Dims dims) {
  if (const auto known = constants.find(name); known != constants.end()) {
    if (graph.values[known->second].dims != dims) {
      fail(ErrorKind::internal, "tensor '{}' is used as {} and as {}", name,
           to_string(graph.values[known->second].dims), to_string(dims));
    }
    return known->second;
  }
  Constant constant = stored(name, dims);
  const ValueId id = add_value({name, std::move(dims), std::move(constant)});
  constants.emplace(name, id);
  return id;
}

std::vector<std::string> Builder::State::unused() const {
  std::vector<std::string> names_left;
  for (const auto& [name, view] : weights.all()) {
    const auto ends_name = [&tensor = name](const std::string& suffix) {
      return tensor.ends_with(suffix);
    };
    if (!std::ranges::any_of(ignored_suffixes, ends_name) && !constants.contains(name)) {
      names_left.push_back(fmt::format("{} {}", name, to_string(view.shape)));
    }
  }
  return names_left;
}

Builder::Builder(std::string graph_name, const checkpoint::Weights& weights)
    : state_(std::make_unique<State>(State{weights, {}, {}, {}, {}, {}, {}})) {
  state_->graph.name = std::move(graph_name);
}

Builder::~Builder() = default;

ValueId Builder::input(std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1 || height > image::kMaxInputSide || width > image::kMaxInputSide) {
    fail(ErrorKind::bad_input, "an input of {} x {} is outside 1 to {}", height, width,
         image::kMaxInputSide);
  }
  state_->graph.input = state_->add_value({"input", {height, width, 3}, std::nullopt});
  return state_->graph.input;
}

Scope Builder::root() { return Scope(*this, ""); }

const Dims& Builder::dims(ValueId value) const { return state_->graph.values[value].dims; }

void Builder::ignore_suffix(std::string_view suffix) {
  state_->ignored_suffixes.emplace_back(suffix);
}

void Builder::output(std::string_view name, ValueId value) {
  state_->graph.outputs.push_back({std::string(name), value});
}

Graph Builder::finish() {
  const std::vector<std::string> unused = state_->unused();
  std::string complaint;
  const auto list = [&complaint](std::string_view what, const std::vector<std::string>& tensors) {
    if (tensors.empty()) return;
    complaint +=
        fmt::format("\n  {} ({}):\n    {}", what, tensors.size(), fmt::join(tensors, "\n    "));
  };
  list("missing", state_->missing);
  list("of the wrong shape or type", state_->misshapen);
  list("not part of the architecture", unused);
  if (!complaint.empty()) {
    fail(ErrorKind::bad_input, "the checkpoint's tensors do not fit {}:{}", state_->graph.name,
         complaint);
  }
  try {
    verify(state_->graph);
  } catch (const Error& error) {
    fail(ErrorKind::bad_input, "{}", error.what());  // nothing stored is corrupt: it was asked for
  }
  return std::move(state_->graph);
}

Scope Scope::operator/(std::string_view child) const {
  return Scope(*builder_, join(path_, child));
}

Scope Scope::operator/(int child) const { return *this / std::to_string(child); }

Scope Scope::as(Role role) const {
  Scope scope = *this;
  scope.role_ = role;
  return scope;
}

ValueId Scope::parameter(std::string_view tensor, Dims dims) const {
  return builder_->state_->tensor(join(path_, tensor), std::move(dims));
}

ValueId Scope::conv2d(ValueId x, const ConvOptions& options) const {
  Builder::State& state = *builder_->state_;
  const Dims& dims = state.graph.values[x].dims;
  if (dims.size() != 3 || options.groups < 1) {
    fail(ErrorKind::bad_input, "conv2d '{}': input {} is not an image", path_, to_string(dims));
  }
  const Dims weight{options.out_channels, dims[2] / options.groups, options.kernel, options.kernel};
  Conv2d op;
  const int padding = options.padding < 0 ? options.kernel / 2 : options.padding;
  op.stride = {options.stride, options.stride};
  op.padding = {padding, padding};
  op.groups = options.groups;
  std::vector<ValueId> inputs{x, parameter("weight", weight)};
  if (options.bias) inputs.push_back(parameter("bias", {options.out_channels}));
  return state.add_node(path_, op, std::move(inputs), role_);
}

ValueId Scope::linear(ValueId x, std::int64_t out_features, bool bias) const {
  const Dims dims = builder_->dims(x);
  if (dims.empty()) fail(ErrorKind::bad_input, "linear '{}': the input is a scalar", path_);
  std::vector<ValueId> inputs{x, parameter("weight", {out_features, dims.back()})};
  if (bias) inputs.push_back(parameter("bias", {out_features}));
  return builder_->state_->add_node(path_, Linear{}, std::move(inputs), role_);
}

ValueId Scope::layer_norm(ValueId x, double epsilon) const {
  const Dims channels{builder_->dims(x).back()};
  return builder_->state_->add_node(
      path_, LayerNorm{epsilon}, {x, parameter("weight", channels), parameter("bias", channels)});
}

ValueId Scope::batch_norm(ValueId x, double epsilon) const {
  const Dims channels{builder_->dims(x).back()};
  return builder_->state_->add_node(
      path_, BatchNorm{epsilon},
      {x, parameter("weight", channels), parameter("bias", channels),
       parameter("running_mean", channels), parameter("running_var", channels)});
}

ValueId Scope::attention(ValueId q, ValueId k, ValueId v, int heads, double scale) const {
  return builder_->state_->add_node(join(path_, "attention"), Attention{heads, scale}, {q, k, v},
                                    role_);
}

ValueId Scope::activate(ValueId x, Activation activation) const {
  return builder_->state_->add_node(join(path_, "activate"), Activate{activation}, {x});
}

ValueId Scope::add(ValueId a, ValueId b) const {
  return builder_->state_->add_node(join(path_, "add"), Add{}, {a, b});
}

ValueId Scope::scale(ValueId x, double factor) const {
  Builder::State& state = *builder_->state_;
  const std::string name = state.unique(join(path_, "factor"));
  const ValueId constant = state.add_value({name, {}, make_constant({static_cast<float>(factor)})});
  return state.add_node(join(path_, "mul"), Mul{}, {x, constant});
}

ValueId Scope::concat(const std::vector<ValueId>& parts, int axis) const {
  return builder_->state_->add_node(join(path_, "concat"), Concat{axis}, parts);
}

ValueId Scope::slice(ValueId x, int axis, std::int64_t begin, std::int64_t end) const {
  return builder_->state_->add_node(join(path_, "slice"), Slice{axis, begin, end}, {x});
}

ValueId Scope::reshape(ValueId x, Dims dims) const {
  return builder_->state_->add_node(join(path_, "reshape"), Reshape{std::move(dims)}, {x});
}

ValueId Scope::transpose(ValueId x, std::vector<int> permutation) const {
  return builder_->state_->add_node(join(path_, "transpose"), Transpose{std::move(permutation)},
                                    {x});
}

ValueId Scope::resize(ValueId x, ResizeMode mode, std::int64_t height, std::int64_t width) const {
  return builder_->state_->add_node(join(path_, "resize"), Resize{mode, height, width}, {x});
}

ValueId Scope::mean(ValueId x, std::vector<int> axes) const {
  return builder_->state_->add_node(join(path_, "mean"), Mean{std::move(axes)}, {x});
}

}  // namespace assay::graph
