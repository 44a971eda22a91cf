/// MobileViT: a mobile convolutional network whose last three stages also look globally, with
/// transformers over pixels at the same place of every patch.
/// Paper: arXiv 2110.02178, figure 1. Weights and their names: timm/models/mobilevit.py,
/// byobnet.py.
#include "families/mobilevit.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "families/model_args.h"
#include "families/transformer_block.h"
#include "graph/builder.h"

namespace assay::families {
namespace {

using graph::Activation;
using graph::Builder;
using graph::Role;
using graph::Scope;
using graph::ValueId;
using ConvOptions = Scope::ConvOptions;

constexpr int kStages = 5;
constexpr int kTransformerStages = 3;  // the last ones
constexpr int kPatch = 2;
constexpr int kHeads = 4;
constexpr int kMlpRatio = 2;
constexpr double kEpsilon = 1e-5;
constexpr int kStemWidth = 16;
constexpr std::array<int, kStages> kDepth{1, 3, 1, 1, 1};  ///< inverted residuals a stage
constexpr std::array<int, kStages> kStride{1, 2, 2, 2, 2};
constexpr std::array<int, kTransformerStages> kTransformerDepth{2, 4, 3};

/// The paper's table 4 in the appendix.
struct Variant {
  std::string_view name;
  int expansion;
  std::array<int, kStages> width;
  std::array<std::int64_t, kTransformerStages> transformer_width;
  int features;
};

constexpr std::array kVariants{
    Variant{"mobilevit_xxs", 2, {16, 24, 48, 64, 80}, {64, 80, 96}, 320},
    Variant{"mobilevit_xs", 4, {32, 48, 64, 80, 96}, {96, 120, 144}, 384},
    Variant{"mobilevit_s", 4, {32, 64, 96, 128, 160}, {144, 192, 240}, 640},
};

struct Network {
  Builder& builder;
  Variant variant;

  [[nodiscard]] int channels(ValueId x) const { return static_cast<int>(builder.dims(x).back()); }

  /// Convolution and BatchNorm, then SiLU unless the block is linear.
  [[nodiscard]] ValueId conv(const Scope& scope, ValueId x, const ConvOptions& options,
                             Role role = Role::convolution,
                             Activation activation = Activation::silu) const {
    x = (scope / "bn").batch_norm((scope / "conv").as(role).conv2d(x, options), kEpsilon);
    return activation == Activation::none ? x : scope.activate(x, activation);
  }

  /// MobileNetV2's block: widen, filter each channel, narrow.
  [[nodiscard]] ValueId inverted_residual(const Scope& scope, ValueId x, int width,
                                          int stride) const {
    const int wide = channels(x) * variant.expansion;
    ValueId y = conv(scope / "conv1_1x1", x, {.out_channels = wide}, Role::expand);
    y = conv(scope / "conv2_kxk", y,
             {.out_channels = wide, .kernel = 3, .stride = stride, .groups = wide},
             Role::depthwise);
    y = conv(scope / "conv3_1x1", y, {.out_channels = width}, Role::project, Activation::none);
    return stride == 1 && channels(x) == width ? scope.add(y, x) : y;
  }

  /// [H, W, C] → [P, N, C]: P places in a patch, N patches. H and W are multiples of the patch.
  [[nodiscard]] ValueId unfold(const Scope& scope, ValueId x) const {
    const graph::Dims size = builder.dims(x);
    const std::int64_t rows = size[0] / kPatch;
    const std::int64_t columns = size[1] / kPatch;
    x = scope.reshape(x, {rows, kPatch, columns, kPatch, size[2]});
    x = scope.transpose(x, {1, 3, 0, 2, 4});
    return scope.reshape(x, {kPatch * kPatch, rows * columns, size[2]});
  }

  /// The inverse: [P, N, C] → [H, W, C].
  [[nodiscard]] ValueId fold(const Scope& scope, ValueId x, std::int64_t height,
                             std::int64_t width) const {
    const std::int64_t depth = channels(x);
    x = scope.reshape(x, {kPatch, kPatch, height / kPatch, width / kPatch, depth});
    x = scope.transpose(x, {2, 0, 3, 1, 4});
    return scope.reshape(x, {height, width, depth});
  }

  /// Local convolution, global transformer over unfolded patches, and their fusion.
  [[nodiscard]] ValueId mobilevit_block(const Scope& scope, ValueId x, std::int64_t dim,
                                        int depth) const {
    const int width = channels(x);
    ValueId y = conv(scope / "conv_kxk", x, {.out_channels = width, .kernel = 3});
    y = (scope / "conv_1x1")
            .as(Role::convolution)
            .conv2d(y, {.out_channels = static_cast<int>(dim)});

    // A map that the patch does not divide is stretched to one that it does, and back after.
    const graph::Dims size = builder.dims(y);
    const std::int64_t rows = (size[0] + kPatch - 1) / kPatch * kPatch;
    const std::int64_t columns = (size[1] + kPatch - 1) / kPatch * kPatch;
    const bool stretch = rows != size[0] || columns != size[1];
    if (stretch) y = scope.resize(y, graph::ResizeMode::bilinear, rows, columns);
    y = unfold(scope, y);
    const TransformerBlock block{kHeads, kMlpRatio * dim, true, kEpsilon, Activation::silu};
    for (int i = 0; i < depth; ++i) {
      y = transformer_block(builder, scope / "transformer" / i, y, block);
    }
    y = fold(scope, (scope / "norm").layer_norm(y, kEpsilon), rows, columns);
    if (stretch) y = scope.resize(y, graph::ResizeMode::bilinear, size[0], size[1]);

    y = conv(scope / "conv_proj", y, {.out_channels = width});
    return conv(scope / "conv_fusion", scope.concat({x, y}, 2),
                {.out_channels = width, .kernel = 3});
  }

  [[nodiscard]] ValueId stage(ValueId x, int index) const {
    const Scope scope = builder.root() / "stages" / index;
    for (int i = 0; i < kDepth[index]; ++i) {
      x = inverted_residual(scope / i, x, variant.width[index], i == 0 ? kStride[index] : 1);
    }
    const int transformer = index - (kStages - kTransformerStages);
    if (transformer < 0) return x;
    return mobilevit_block(scope / kDepth[index], x, variant.transformer_width[transformer],
                           kTransformerDepth[transformer]);
  }
};

/// The table's row, with whatever the configuration overrides.
Network configure(Builder& builder, const Request& request, std::string_view architecture) {
  ModelArgs args(request.config);
  Network network{builder, *std::ranges::find(kVariants, architecture, &Variant::name)};
  network.variant.features =
      static_cast<int>(args.integer("num_features", network.variant.features));
  args.only("num_classes", {std::to_string(request.config.num_classes)});
  args.only("in_chans", {"3"});
  args.only("global_pool", {"\"avg\""});
  args.only("output_stride", {"32"});
  args.only("act_layer", {"\"silu\""});
  args.ignore({"img_size", "drop_rate", "drop_path_rate", "drop_block_rate", "drop_block_size",
               "zero_init_last"});
  args.finish();
  return network;
}

graph::Graph build_mobilevit(const Request& request, std::string_view architecture) {
  Builder builder(std::string(architecture), request.weights);
  builder.ignore_suffix(".num_batches_tracked");  // a counter of training steps
  const Network network = configure(builder, request, architecture);
  const Scope root = builder.root();

  ValueId x = builder.input(request.input_height, request.input_width);
  x = network.conv(root / "stem", x, {.out_channels = kStemWidth, .kernel = 3, .stride = 2},
                   Role::stem);
  for (int i = 0; i < kStages; ++i) x = network.stage(x, i);
  x = network.conv(root / "final_conv", x, {.out_channels = network.variant.features});

  const Scope head = root / "head";
  const ValueId features = head.mean(x, {0, 1});
  builder.output("features", features);
  builder.output("logits",
                 (head / "fc").as(Role::classifier).linear(features, request.config.num_classes));
  return builder.finish();
}

}  // namespace

Family mobilevit_family() {
  Family family{"mobilevit",
                "MobileViT: convolutions, and transformers over patches (arXiv 2110.02178)",
                {},
                build_mobilevit};
  for (const Variant& variant : kVariants) family.architectures.push_back(variant.name);
  return family;
}

}  // namespace assay::families
