/// CrossViT: two branches see the image at two scales; their class tokens visit each other.
/// Paper: arXiv 2103.14899, figures 2 to 4. Weights and their names: timm/models/crossvit.py.
#include "families/crossvit.h"

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

constexpr int kBranches = 2;
constexpr int kStages = 3;
constexpr double kEpsilon = 1e-6;

/// The paper's table 1; index 0 is the branch of small patches.
struct Variant {
  std::string_view name;
  std::array<std::int64_t, kBranches> width;
  std::array<int, kBranches> depth;  ///< blocks a stage
  int heads;                         ///< the same in both branches
  double mlp_ratio;
};

constexpr std::array kVariants{
    Variant{"crossvit_tiny_240", {96, 192}, {1, 4}, 3, 4.0},
    Variant{"crossvit_small_240", {192, 384}, {1, 4}, 6, 4.0},
    Variant{"crossvit_base_240", {384, 768}, {1, 4}, 12, 4.0},
    Variant{"crossvit_9_240", {128, 256}, {1, 3}, 4, 3.0},
    Variant{"crossvit_15_240", {192, 384}, {1, 5}, 6, 3.0},
    Variant{"crossvit_18_240", {224, 448}, {1, 6}, 7, 3.0},
};

constexpr std::array<int, kBranches> kPatch{12, 16};
constexpr std::array<double, kBranches> kImageScale{1.0, 224.0 / 240.0};

/// As Python's int(): towards zero.
std::int64_t scaled(std::int64_t extent, double factor) {
  return static_cast<std::int64_t>(static_cast<double>(extent) * factor);
}

struct Network {
  Builder& builder;
  Variant variant;
  bool qkv_bias = true;

  [[nodiscard]] std::int64_t tokens(ValueId x) const { return builder.dims(x)[0]; }
  [[nodiscard]] ValueId class_token(const Scope& scope, ValueId x) const {
    return scope.slice(x, 0, 0, 1);
  }
  [[nodiscard]] ValueId patches(const Scope& scope, ValueId x) const {
    return scope.slice(x, 0, 1, tokens(x));
  }

  /// Scaled image → patches, with the class token in front and the positions added: [1 + N, C].
  [[nodiscard]] ValueId embed(ValueId image, int branch) const {
    const Scope root = builder.root();
    const std::int64_t width = variant.width[branch];
    const graph::Dims size = builder.dims(image);
    const std::int64_t height = scaled(size[0], kImageScale[branch]);
    const std::int64_t across = scaled(size[1], kImageScale[branch]);
    if (height != size[0] || across != size[1]) {
      image = root.resize(image, graph::ResizeMode::bicubic, height, across);
    }
    const Scope proj = (root / "patch_embed" / branch / "proj").as(Role::patch_embedding);
    ValueId x = proj.conv2d(image, {.out_channels = static_cast<int>(width),
                                    .kernel = kPatch[branch],
                                    .stride = kPatch[branch],
                                    .bias = true,
                                    .padding = 0});
    x = proj.reshape(x, {builder.dims(x)[0] * builder.dims(x)[1], width});
    const std::string suffix = std::to_string(branch);
    x = root.concat({root.parameter("cls_token_" + suffix, {1, width}), x}, 0);
    return root.add(x, root.parameter("pos_embed_" + suffix, {tokens(x), width}));
  }

  /// Norm, GELU, Linear: brings a class token to the other branch's width, and back.
  [[nodiscard]] ValueId project(const Scope& scope, ValueId token, std::int64_t width) const {
    token = (scope / 0).layer_norm(token, kEpsilon);
    return (scope / 2)
        .as(Role::class_projection)
        .linear((scope / 1).activate(token, Activation::gelu), width);
  }

  /// A projected class token attends to the other branch's patches and to itself: [1, C].
  [[nodiscard]] ValueId cross_attention(const Scope& scope, ValueId token, ValueId others) const {
    const Scope attn = scope / "attn";
    const std::int64_t width = builder.dims(token)[1];
    const ValueId seen = (scope / "norm1").layer_norm(scope.concat({token, others}, 0), kEpsilon);
    const ValueId q =
        (attn / "wq").as(Role::query).linear(class_token(attn, seen), width, qkv_bias);
    const ValueId k = (attn / "wk").as(Role::key).linear(seen, width, qkv_bias);
    const ValueId v = (attn / "wv").as(Role::value).linear(seen, width, qkv_bias);
    const ValueId mixed =
        attn.as(Role::attention)
            .attention(q, k, v, variant.heads, attention_scale(width, variant.heads));
    return scope.add(token, (attn / "proj").as(Role::attention_projection).linear(mixed, width));
  }

  /// One multi-scale encoder: each branch's own blocks, then the exchange of class tokens.
  [[nodiscard]] std::array<ValueId, kBranches> stage(const Scope& scope,
                                                     std::array<ValueId, kBranches> x) const {
    for (int branch = 0; branch < kBranches; ++branch) {
      const std::int64_t hidden = scaled(variant.width[branch], variant.mlp_ratio);
      const TransformerBlock block{variant.heads, hidden, qkv_bias, kEpsilon, Activation::gelu};
      for (int i = 0; i < variant.depth[branch]; ++i) {
        x[branch] = transformer_block(builder, scope / "blocks" / branch / i, x[branch], block);
      }
    }
    std::array<ValueId, kBranches> fused{};
    for (int branch = 0; branch < kBranches; ++branch) {
      const int other = 1 - branch;
      const Scope there = scope / "projs" / branch;
      const Scope fusion = scope / "fusion" / branch;
      const Scope back = scope / "revert_projs" / branch;
      ValueId token = project(there, class_token(there, x[branch]), variant.width[other]);
      token = cross_attention(fusion, token, patches(fusion, x[other]));
      token = project(back, token, variant.width[branch]);
      fused[branch] = back.concat({token, patches(back, x[branch])}, 0);
    }
    return fused;
  }

  /// Both branches' class tokens; the answer is the mean of their classifiers.
  void head(std::array<ValueId, kBranches> x, std::int64_t classes) const {
    const Scope root = builder.root();
    std::vector<ValueId> features;
    std::vector<ValueId> logits;
    for (int branch = 0; branch < kBranches; ++branch) {
      const Scope norm = root / "norm" / branch;
      const ValueId token = norm.layer_norm(class_token(norm, x[branch]), kEpsilon);
      features.push_back(norm.reshape(token, {variant.width[branch]}));
      logits.push_back(
          (root / "head" / branch).as(Role::classifier).linear(features.back(), classes));
    }
    const Scope head = root / "head";
    builder.output("features", head.concat(features, 0));
    builder.output("logits", head.scale(head.add(logits[0], logits[1]), 1.0 / kBranches));
  }
};

/// The table's row, with whatever the configuration overrides.
Network configure(Builder& builder, const Request& request, std::string_view architecture) {
  ModelArgs args(request.config);
  Network network{builder, *std::ranges::find(kVariants, architecture, &Variant::name)};
  network.qkv_bias = args.boolean("qkv_bias", true);
  std::vector<std::string> sizes{
      fmt::format("[{}, {}]", request.input_height, request.input_width)};
  if (request.input_height == request.input_width) {
    sizes.push_back(std::to_string(request.input_height));
  }
  args.only("img_size", sizes);
  args.only("num_classes", {std::to_string(request.config.num_classes)});
  args.only("in_chans", {"3"});
  args.only("global_pool", {"\"token\""});
  args.only("multi_conv", {"false"});
  args.only("crop_scale", {"false"});
  args.ignore({"drop_rate", "pos_drop_rate", "proj_drop_rate", "attn_drop_rate", "drop_path_rate"});
  args.finish();
  return network;
}

graph::Graph build_crossvit(const Request& request, std::string_view architecture) {
  Builder builder(std::string(architecture), request.weights);
  const Network network = configure(builder, request, architecture);
  const ValueId image = builder.input(request.input_height, request.input_width);
  std::array<ValueId, kBranches> x{network.embed(image, 0), network.embed(image, 1)};
  for (int i = 0; i < kStages; ++i) x = network.stage(builder.root() / "blocks" / i, x);
  network.head(x, request.config.num_classes);
  return builder.finish();
}

}  // namespace

Family crossvit_family() {
  Family family{"crossvit",
                "CrossViT: cross-attention between two branches of patches (arXiv 2103.14899)",
                {},
                build_crossvit};
  for (const Variant& variant : kVariants) family.architectures.push_back(variant.name);
  return family;
}

}  // namespace assay::families
