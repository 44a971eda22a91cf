#pragma once
/// Products of activations and weights as steps run them: linear layers and convolutions, at fp32
/// or with narrower operands.
#include <memory>
#include <vector>

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/narrow.h"
#include "backend/cpu/lowering.h"

namespace assay::backend::cpu {

using graph::kBiasInput;
using graph::kResidualInput;
using graph::kWeightInput;
using graph::kWeightScaleInput;

/// Whether the node, a conv2d or linear, adds a residual.
bool has_residual(const graph::Node& node);

/// A weight [O, ...] packed for one of the kernels; exactly one of the two is there.
struct Weights {
  std::shared_ptr<const PackedMatrix> wide;  ///< fp32
  std::shared_ptr<const NarrowMatrix> narrow;
};

/// Packs the weight and bias of `channels`, output channels of a linear layer or a convolution, in
/// the node's precision; a channel that is past the last becomes zeros. A kernel's taps come before
/// its input channels, as images lie.
Weights pack_weights(Lowering& lowering, const graph::Node& node,
                     std::span<const std::int64_t> channels);

/// first, first + 1, ... of which there are `count`.
std::vector<std::int64_t> channel_range(std::int64_t first, std::int64_t count);

/// A product whose pointers are still places.
struct Product {
  Weights weights;
  GemmArgs args;  ///< all but the pointers
  std::shared_ptr<const std::vector<std::int64_t>> segments;
  Place a;
  Place c;
  Place residual;  ///< block −1: none
  RowNorm norm;    ///< of rows of A, at narrow precisions

  /// `args` with its pointers, as they are in this call.
  [[nodiscard]] GemmArgs resolved(const RunContext& context) const;
  /// Computes the worker's share.
  void run(const RunContext& context, const Worker& worker) const;
  /// Floats of scratch that each worker needs.
  [[nodiscard]] std::int64_t scratch() const;
};

/// The parts of a narrow product's arguments that come from a GEMM's: where A is, and where C goes.
NarrowSource narrow_source(const GemmArgs& args);
NarrowTarget narrow_target(const GemmArgs& args);

/// How many rows to pack at a time where a row takes `row_bytes` of a worker's cache: a multiple of
/// the kernels' blocks of 32.
std::int64_t rows_in_flight(std::int64_t row_bytes, std::int64_t rows);

/// Floats for `rows` packed rows, up to the kernels' blocks.
std::int64_t packed_floats(std::int64_t rows, std::int64_t row_bytes);

/// Geometry, weights and places of a linear layer that reads `a`. Its output may take its
/// residual's place.
Product linear_product(Lowering& lowering, const graph::Node& node, const Place& a);

/// The places of the product, for add_step.
std::vector<Place> places_of(const Product& product);

/// Bytes that the rows in flight of a fused step may take of a core's second-level cache: 256 KiB,
/// which leaves room for the weights in the smallest ones, or what tuning says for `node`.
std::int64_t choose_bytes_in_flight(Lowering& lowering, const graph::Node& node);

/// Keeps a copy of `numbers` as long as the plan; null for none.
const float* keep(Lowering& lowering, std::span<const float> numbers);

/// "gemm" for a product at fp32, else with the precision behind it: "gemm bf16".
std::string tactic_of(const graph::Node& node, std::string_view name);

}  // namespace assay::backend::cpu
