#pragma once
/// Who makes and who reads each value of a graph.
#include <vector>

#include "graph/graph.h"

namespace assay::backend::cuda {

class Consumers {
 public:
  explicit Consumers(const graph::Graph& graph);

  /// The node that computes the value; null for the input and constants.
  [[nodiscard]] const graph::Node* producer(graph::ValueId value) const {
    return producers_[value];
  }
  /// Indices of the nodes that read the value, ascending; a node stands there once an input.
  [[nodiscard]] const std::vector<std::size_t>& readers(graph::ValueId value) const {
    return readers_[value];
  }
  [[nodiscard]] bool is_output(graph::ValueId value) const { return outputs_[value]; }

 private:
  std::vector<const graph::Node*> producers_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> outputs_;
};

/// A convolution with as many groups as channels, in and out.
bool is_depthwise(const graph::Graph& graph, const graph::Node& node);

/// A convolution of single pixels, all channels together: a product of rows.
bool is_pointwise(const graph::Graph& graph, const graph::Node& node);

/// Whether the first `axis` dims are all 1: then the axis cuts rows into leading and trailing ones.
bool is_leading(const graph::Dims& dims, int axis);

/// Whether a reshape keeps the rows: the last axis stays as it is.
bool keeps_rows(const graph::Graph& graph, const graph::Node& reshape);

}  // namespace assay::backend::cuda
