#pragma once
/// The reference backend's operators: one function and one file each, scalar, with double
/// accumulators, as close to the formula as code can be. Each computes one image. They take
/// operands whose dims graph::infer_shape() has accepted.
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace assay::backend::reference {

/// Numbers with their dims; an optional input that is not there has no numbers.
struct Tensor {
  std::span<const float> numbers;
  std::span<const std::int64_t> dims;
  [[nodiscard]] bool present() const { return !numbers.empty(); }
};

struct Call {
  std::span<const Tensor> inputs;
  std::span<const std::int64_t> dims;  ///< the output's
  std::span<float> out;
  std::vector<double>& scratch;  ///< kept between calls; an operator resizes it
  /// Inputs are rounded already; attention rounds its probabilities, too.
  graph::Precision precision = graph::Precision::fp32;
};

void run(const graph::Conv2d& op, const Call& call);
void run(const graph::Linear& op, const Call& call);
void run(const graph::LayerNorm& op, const Call& call);
void run(const graph::BatchNorm& op, const Call& call);
void run(const graph::Attention& op, const Call& call);
void run(const graph::Activate& op, const Call& call);
void run(const graph::Softmax& op, const Call& call);
void run(const graph::Add& op, const Call& call);
void run(const graph::Mul& op, const Call& call);
void run(const graph::Concat& op, const Call& call);
void run(const graph::Slice& op, const Call& call);
void run(const graph::Reshape& op, const Call& call);
void run(const graph::Transpose& op, const Call& call);
void run(const graph::Resize& op, const Call& call);
void run(const graph::Mean& op, const Call& call);
void run(const graph::FakeQuantize& op, const Call& call);

/// The most doubles that the operator puts into Call::scratch.
std::size_t scratch_size(const graph::Graph& graph, const graph::Node& node);

}  // namespace assay::backend::reference
