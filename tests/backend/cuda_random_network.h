#pragma once
/// Networks of random operators at odd shapes. What grows is normalized again, so that values stay
/// around 1.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "backend/cpu_random_graph.h"

namespace assay::backend::cuda {

class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : make_(seed), random_(seed) {}

  /// `blocks` random blocks on a map, then a head. The same for the same seed.
  graph::Graph build(int blocks) {
    map_ = make_.input({number(5, 21), number(5, 21), 3});
    convolution();
    for (int i = 0; i < blocks; ++i) block();
    const graph::ValueId pooled = make_.node(graph::Mean{{0, 1}}, {map_});
    return make_.finish(make_.linear(make_.layer_norm(pooled), number(2, 19)));
  }

 private:
  static constexpr std::int64_t kMostTokens = 400;
  static constexpr std::int64_t kFewestChannels = 8;  // fewer make a layer norm magnify errors

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool coin() { return number(0, 1) == 1; }
  graph::Activation activation() { return static_cast<graph::Activation>(number(0, 2)); }
  [[nodiscard]] std::int64_t dim(std::size_t axis) const { return make_.dims(map_)[axis]; }
  void normalize() { map_ = make_.layer_norm(map_); }

  void block() {
    switch (number(0, 9)) {
      case 0:
      case 1:
        return convolution();
      case 2:
        return grouped(dim(2));
      case 3:
        return grouped(even_channels() ? 2 : 1);
      case 4:
        return inverted_residual();
      case 5:
        return elementwise();
      case 6:
        return part_and_whole();
      case 7:
        return resize();
      case 8:
        return transpose();
      default:
        return transformer();
    }
  }

  [[nodiscard]] bool even_channels() const { return dim(2) % 2 == 0; }

  /// Of a size at which some map is left.
  graph::Conv2d window(std::int64_t kernel) {
    graph::Conv2d op;
    const int pad = static_cast<int>(kernel / 2);
    op.padding = {pad, pad};
    const bool large = dim(0) > 6 && dim(1) > 6;
    if (large && number(0, 3) == 0) op.stride = {2, static_cast<int>(number(1, 2))};
    if (large && number(0, 3) == 0) op.dilation = {static_cast<int>(number(1, 2)), 2};
    op.activation = activation();
    return op;
  }

  void convolution() {
    constexpr std::array<std::int64_t, 4> kKernels{1, 2, 3, 5};
    const std::int64_t wanted = kKernels[static_cast<std::size_t>(number(0, 3))];
    const std::int64_t kernel = std::min({wanted, dim(0), dim(1)});
    const graph::Conv2d op = window(kernel);
    const std::int64_t channels = number(kFewestChannels, 40);
    const graph::ValueId made = make_.conv(map_, channels, kernel, op, coin());
    const bool same = make_.dims(made) == make_.dims(map_);
    map_ = same && coin() ? make_.conv(made, channels, kernel, op, coin(), map_) : made;
    normalize();
  }

  void grouped(std::int64_t groups) {
    graph::Conv2d op = window(3);
    if (std::min(dim(0), dim(1)) < 3) op.dilation = {1, 1};
    op.groups = static_cast<int>(groups);
    map_ = make_.conv(map_, dim(2), 3, op, coin());
    normalize();
  }

  void inverted_residual() {
    const std::int64_t channels = dim(2);
    const std::int64_t wide = channels * 2 + number(0, 3);
    const int stride = dim(0) > 6 && dim(1) > 6 ? static_cast<int>(number(1, 2)) : 1;
    const auto silu = graph::Activation::silu;
    const graph::ValueId expanded = make_.conv(map_, wide, 1, {.activation = silu});
    const graph::Conv2d depthwise{.stride = {stride, stride},
                                  .padding = {1, 1},
                                  .groups = static_cast<int>(wide),
                                  .activation = silu};
    const graph::ValueId deep = make_.conv(make_.layer_norm(expanded), wide, 3, depthwise);
    map_ = make_.conv(deep, channels, 1, {}, true, stride == 1 ? map_ : graph::kNone);
    normalize();
  }

  void elementwise() {
    const graph::ValueId active = make_.node(graph::Activate{activation()}, {map_});
    const graph::ValueId scaled = make_.node(graph::Mul{}, {make_.constant({dim(2)}), active});
    map_ = make_.node(graph::Add{}, {scaled, coin() ? map_ : make_.constant(make_.dims(map_))});
    if (coin()) map_ = make_.node(graph::Softmax{}, {map_});
    normalize();
  }

  /// A slice of rows, columns or channels behind the whole: what follows reads both.
  void part_and_whole() {
    const int axis = static_cast<int>(number(0, 2));
    const std::int64_t length = dim(static_cast<std::size_t>(axis));
    const std::int64_t begin = number(0, length - 1);
    const graph::ValueId part =
        make_.node(graph::Slice{axis, begin, number(begin + 1, length)}, {map_});
    map_ = make_.node(graph::Concat{axis}, {map_, part});
  }

  void resize() {
    const auto mode = coin() ? graph::ResizeMode::bilinear : graph::ResizeMode::bicubic;
    map_ = make_.node(graph::Resize{mode, number(4, 17), number(4, 17)}, {map_});
  }

  void transpose() { map_ = make_.node(graph::Transpose{{1, 0, 2}}, {map_}); }

  /// Attention among the pixels, all of them or those of a row.
  void transformer() {
    const graph::Dims dims = make_.dims(map_);
    const bool rows = coin() || dims[0] * dims[1] > kMostTokens;
    const std::int64_t heads = number(1, 3);
    const std::int64_t width = heads * number(3, 17);
    const graph::ValueId tokens =
        rows ? map_ : make_.node(graph::Reshape{{dims[0] * dims[1], dims[2]}}, {map_});
    const graph::ValueId qkv = make_.layer_norm(make_.linear(make_.layer_norm(tokens), 3 * width));
    const int axis = rows ? 2 : 1;
    std::vector<graph::ValueId> parts;
    for (int i = 0; i < 3; ++i) {
      parts.push_back(make_.node(graph::Slice{axis, i * width, (i + 1) * width}, {qkv}));
    }
    const graph::ValueId mixed = make_.node(graph::Attention{static_cast<int>(heads), 0.3}, parts);
    const graph::ValueId moved =
        make_.linear(mixed, dims[2], coin(), graph::Activation::none, tokens);
    map_ = rows ? moved : make_.node(graph::Reshape{dims}, {moved});
    normalize();
  }

  cpu::GraphMaker make_;
  std::mt19937 random_;
  graph::ValueId map_ = graph::kNone;
};

}  // namespace assay::backend::cuda
