#include "backend/cpu/lower_winograd.h"

#include <memory>

#include "backend/cpu/kernels/winograd.h"
#include "backend/cpu/product.h"

namespace assay::backend::cpu {
namespace {

constexpr std::string_view kDirect = "implicit gemm";
constexpr std::string_view kSmallTiles = "winograd 2x2";
constexpr std::string_view kLargeTiles = "winograd 4x4";

bool can_transform(const graph::Graph& graph, const graph::Node& node, const graph::Conv2d& op) {
  // With fewer channels the transforms cost what the products save.
  constexpr std::int64_t kFewestChannels = 32;
  const graph::Dims& weight = graph.value(node.inputs[kWeightInput]).dims;
  return op.groups == 1 && weight[2] == 3 && weight[3] == 3 && op.stride == std::array{1, 1} &&
         op.padding == std::array{1, 1} && op.dilation == std::array{1, 1} &&
         node.precision == graph::Precision::fp32 && weight[0] >= kFewestChannels &&
         weight[1] >= kFewestChannels;
}

/// Tiles of 4 × 4 outputs have 4 times the direct product's weights, which few pixels do not repay:
/// then tiles of 2 × 2, with 1.8 times the weights, and for fewer pixels yet none. The bounds are
/// measured: see docs/cpu-notes.md.
std::string choose_tactic(Lowering& lowering, const graph::Node& node) {
  constexpr std::int64_t kManyPixels = 512;
  constexpr std::int64_t kFewestPixels = 64;
  const graph::Dims& out = lowering.dims(node.output);
  const std::int64_t pixels = out[0] * out[1];
  if (pixels >= kManyPixels) return lowering.choose(node, {kLargeTiles, kSmallTiles, kDirect});
  if (pixels >= kFewestPixels) return lowering.choose(node, {kSmallTiles, kLargeTiles, kDirect});
  return lowering.choose(node, {kDirect, kSmallTiles, kLargeTiles});
}

}  // namespace

bool lower_winograd(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op) {
  if (!can_transform(lowering.graph(), node, op)) return false;
  const std::string tactic = choose_tactic(lowering, node);
  if (tactic == kDirect) return false;
  const int outputs = tactic == kLargeTiles ? 4 : 2;
  const graph::Dims& out = lowering.dims(node.output);
  const graph::Dims& dims = lowering.dims(node.inputs[kWeightInput]);
  const auto weights = std::make_shared<const WinogradWeights>(
      pack_winograd(lowering.weight(node, kWeightInput, "weight"), dims[0], dims[1], outputs,
                    lowering.constants()));
  std::vector<float> bias = lowering.optional_weight(node, kBiasInput, "bias");
  bias.resize(static_cast<std::size_t>(dims[0]));

  const Place x = lowering.place_of(node.inputs[0]);
  const Place y = lowering.place_output(node);
  std::vector<Place> places{x, y};
  WinogradArgs args;
  args.height = out[0];
  args.width = out[1];
  args.x_row = x.row_stride;
  args.x_line = x.line_of(out[1]);
  args.y_row = y.row_stride;
  args.y_line = y.line_of(out[1]);
  args.activation = op.activation;
  Place residual;
  if (has_residual(node)) {
    residual = lowering.place_of(node.inputs[kResidualInput]);
    args.residual_row = residual.row_stride;
    args.residual_line = residual.line_of(out[1]);
    places.push_back(residual);
  }
  Step& step = lowering.add_step(
      node, tactic, places,
      [=, bias = std::move(bias)](const RunContext& context, const Worker& worker) {
        WinogradArgs now = args;
        now.x = context.read(x);
        now.y = context.write(y);
        now.bias = bias.data();
        if (residual.block >= 0) now.residual = context.read(residual);
        winograd(*weights, now, winograd_share(*weights, now, worker.index, worker.count),
                 context.scratch);
      });
  step.scratch = winograd_scratch(*weights, winograd_tiles(outputs, out[0], out[1]));
  return true;
}

}  // namespace assay::backend::cpu
