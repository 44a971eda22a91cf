#pragma once
/// How a family writes a graph: values in, values out, weights by the checkpoint's own names.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "graph/graph.h"

namespace assay::graph {

class Builder;

/// A place in the checkpoint's tree of names. A cheap value; valid as long as its Builder.
class Scope {
 public:
  /// The scope of a child: scope / "attn" / "qkv".
  Scope operator/(std::string_view child) const;
  Scope operator/(int child) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The same scope; its conv2d, linear and attention say that they are for `role`.
  [[nodiscard]] Scope as(Role role) const;

  struct ConvOptions {
    int out_channels = 0;
    int kernel = 1;
    int stride = 1;
    int groups = 1;
    bool bias = false;
    int padding = -1;  ///< -1: kernel / 2
  };
  /// A layer of this scope: its tensors are "<scope>.weight", "<scope>.bias", ...; a missing one or
  /// one of another shape is recorded and reported by Builder::finish.
  ValueId conv2d(ValueId x, const ConvOptions& options) const;
  ValueId linear(ValueId x, std::int64_t out_features, bool bias = true) const;
  ValueId layer_norm(ValueId x, double epsilon) const;
  ValueId batch_norm(ValueId x, double epsilon = 1e-5) const;
  /// A bare tensor of this scope, such as "cls_token_0", as a constant of `dims`, which may drop
  /// leading ones of the stored shape.
  ValueId parameter(std::string_view tensor, Dims dims) const;

  // Operators without weights; the node is named after the scope and the operator.
  ValueId attention(ValueId q, ValueId k, ValueId v, int heads, double scale) const;
  ValueId activate(ValueId x, Activation activation) const;
  ValueId add(ValueId a, ValueId b) const;
  ValueId scale(ValueId x, double factor) const;
  ValueId concat(const std::vector<ValueId>& parts, int axis) const;
  ValueId slice(ValueId x, int axis, std::int64_t begin, std::int64_t end) const;
  ValueId reshape(ValueId x, Dims dims) const;
  ValueId transpose(ValueId x, std::vector<int> permutation) const;
  ValueId resize(ValueId x, ResizeMode mode, std::int64_t height, std::int64_t width) const;
  ValueId mean(ValueId x, std::vector<int> axes) const;

 private:
  friend class Builder;
  Scope(Builder& builder, std::string path) : builder_(&builder), path_(std::move(path)) {}
  Builder* builder_;
  std::string path_;
  Role role_ = Role::none;
};

/// Builds one graph from one checkpoint's weights, recording which tensors were used.
class Builder {
 public:
  Builder(std::string graph_name, const checkpoint::Weights& weights);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder();

  ValueId input(std::int64_t height, std::int64_t width);
  [[nodiscard]] Scope root();
  [[nodiscard]] const Dims& dims(ValueId value) const;
  /// Tensors that may stay unused, by the end of their name: "num_batches_tracked".
  void ignore_suffix(std::string_view suffix);
  void output(std::string_view name, ValueId value);
  /// The graph. Throws bad_input listing every tensor that is missing, has another shape, or was
  /// neither used nor ignored.
  Graph finish();

 private:
  friend class Scope;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::graph
