#pragma once
/// The room for networks as values: operators on tensors with static shapes but for the batch. A
/// family builds a Graph, passes rewrite it, a bundle stores it, a backend lowers it. Nothing here
/// knows a family, a device or a file.
///
/// Conventions every room relies on:
/// - Dims are per image: the batch is implicit in front and no operator can touch it. Axes count
///   from the first per-image dimension.
/// - Image tensors are channels-last: [H, W, C]. Token tensors are [N, C]; MobileViT's unfolded
///   tokens are [P, N, C]. Every operator works on the last axis unless it says otherwise.
/// - Constants have no batch and broadcast over it.
/// - Nodes are in execution order. A node's name is the checkpoint's own name of the layer
///   ("blocks.0.blocks.0.0.attn.qkv"), unique within the graph; a value's name is unique too.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "numerics/dtype.h"
#include "numerics/int8.h"

namespace assay::graph {

using Dims = std::vector<std::int64_t>;
using ValueId = std::uint32_t;
/// Marks an optional input that is not there.
inline constexpr ValueId kNone = std::numeric_limits<ValueId>::max();

/// Product of `dims`; 1 for none. The graph's limits keep it far from overflow.
std::int64_t elements(std::span<const std::int64_t> dims);
/// "[240, 240, 3]".
std::string to_string(std::span<const std::int64_t> dims);

/// Stored numbers. `bytes` live as long as `owner` and need not be aligned.
struct Constant {
  DType dtype = DType::f32;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
/// The types a constant may have: f16, bf16, f32, f64, f8_e4m3, f8_e5m2. (An int8 node's weight is
/// i8, an nvfp4 node's f4, and nothing else is.)
bool is_constant_type(DType dtype);
/// The types that are codes and mean nothing without their scales: i8, f4.
bool is_code_type(DType dtype);
/// Owns a copy of `bytes`, which hold numbers of type `dtype`.
Constant make_constant(DType dtype, std::span<const std::byte> bytes);
/// Owns a copy of `values` as f32.
Constant make_constant(std::vector<float> values);
/// The numbers as fp32, converted from whatever floating type is stored.
std::vector<float> to_f32(const Constant& constant);

enum class Activation : std::uint8_t { none, gelu, silu };  // gelu is the exact one, with erf

/// In which format a product takes its two operands. Sums are in fp32 (int8: in int32), and bias,
/// activation, residual and output are fp32 whatever the operands.
/// - fp16, bf16: both operands are rounded to nearest even.
/// - int8: input 0 is affine u8 by the node's `input_quantization`; the weight is stored as
///   symmetric s8, -127 to 127, with one scale an output channel.
/// - fp8: input 0 is E4M3 with the scale `input_scales[0]` (number = scale × code); the weight is
///   stored as F8_E4M3 with one scale in all or one an output channel. Attention has three scales,
///   for q, k and v, and takes exp(score - largest score) as E4M3 with the scale 1/448; the sum
///   that it is divided by is of numbers that are not rounded.
/// - nvfp4: input 0 as at fp16; the weight is stored as F4 (E2M1), in blocks of kBlock along K, the
///   weight's other dims in the order stored (the last block of a channel may be short), with one
///   F8_E4M3 scale a block and one F32 scale in all: number = tensor scale × block scale × code.
enum class Precision : std::uint8_t { fp32, fp16, bf16, int8, fp8, nvfp4 };
inline constexpr std::array kPrecisions{Precision::fp32, Precision::fp16, Precision::bf16,
                                        Precision::int8, Precision::fp8,  Precision::nvfp4};
/// "fp32", "fp16", "bf16", "int8", "fp8", "nvfp4".
std::string_view name(Precision precision);
std::optional<Precision> precision_from_name(std::string_view name);
/// Weights that share a scale at nvfp4.
inline constexpr std::int64_t kBlock = 16;

/// What a layer is for, as its family says: what a recipe's rules choose layers by.
enum class Role : std::uint8_t {
  none,
  convolution,      ///< dense, but for those below
  depthwise,        ///< one filter a channel
  expand,           ///< of an inverted residual: 1 × 1, to more channels
  project,          ///< of an inverted residual: 1 × 1, to fewer
  patch_embedding,  ///< reads the picture, as `stem` does
  stem,
  qkv,  ///< one layer for all three
  query,
  key,
  value,
  attention,
  attention_projection,
  fc1,  ///< of a transformer's MLP
  fc2,
  class_projection,  ///< a class token's, to another width
  classifier,
};
/// "convolution", "attention_projection", ...; "none".
std::string_view name(Role role);
std::optional<Role> role_from_name(std::string_view name);
/// Most products that one sum has at int8: 255 × 127 of each still fit an int32.
inline constexpr std::int64_t kMaxInt8Depth =
    std::numeric_limits<std::int32_t>::max() / (255 * 127);

// ---- operators: inputs in the order given; an optional one may be kNone, or left off at the end.
// Weights, biases and statistics are constants; a residual is not.

/// y = activation(conv(x, weight) + bias) + residual. Inputs: x [H, W, I], weight [O, I/groups, kh,
/// kw] (constant), bias [O] (optional), residual [H', W', O] (optional), weight_scale (constant,
/// F32 [O] at int8, F32 [O] or [1] at fp8, F8_E4M3 [O, blocks along K] at nvfp4, absent elsewhere),
/// tensor_scale (constant, F32 [1] at nvfp4, absent elsewhere). Zero padding.
struct Conv2d {
  std::array<int, 2> stride{1, 1};
  std::array<int, 2> padding{0, 0};
  std::array<int, 2> dilation{1, 1};
  int groups = 1;
  Activation activation = Activation::none;
};
/// y = activation(x · weightᵀ + bias) + residual. Inputs: x [..., K], weight [N, K] (constant),
/// bias [N] (optional), residual [..., N] (optional), weight_scale, tensor_scale (as for Conv2d).
struct Linear {
  Activation activation = Activation::none;
};
/// Inputs: x [..., C], weight [C], bias [C]. Biased variance over the last axis.
struct LayerNorm {
  double epsilon = 1e-5;
};
/// Inputs: x [..., C], weight [C], bias [C], running_mean [C], running_var [C].
struct BatchNorm {
  double epsilon = 1e-5;
};
/// softmax(scale · q kᵀ) v, head by head. Inputs: q [..., Nq, C], k [..., Nk, C], v [..., Nk, C]; C
/// is heads × head size, heads outermost. Output [..., Nq, C].
struct Attention {
  int heads = 1;
  double scale = 1.0;
};
struct Activate {
  Activation activation = Activation::none;
};
/// The formats that FakeQuantize rounds to.
enum class NumberFormat : std::uint8_t { fp16, bf16, e4m3, affine_u8 };
/// Each number becomes the one that its code stands for: scale × decode(encode(x × (1 / scale)));
/// affine u8 with its zero point, as numerics::AffineU8 does. What narrow products are emulated
/// with: emulate.h. fp16 and bf16 have scale 1.
struct FakeQuantize {
  NumberFormat format = NumberFormat::e4m3;
  double scale = 1.0;  ///< an fp32 number
  int zero_point = 0;  ///< affine_u8 alone has one
};
/// Over the last axis.
struct Softmax {};
/// Inputs of equal dims, or one whose dims are a suffix of the other's (then it broadcasts).
struct Add {};
struct Mul {};
/// Two or more inputs that differ along `axis` only; a constant broadcasts over the batch.
struct Concat {
  int axis = 0;
};
/// Elements [begin, end) along `axis`.
struct Slice {
  int axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
struct Reshape {
  Dims dims;
};
/// Output axis i is input axis permutation[i].
struct Transpose {
  std::vector<int> permutation;
};
enum class ResizeMode : std::uint8_t { bilinear, bicubic };
/// Inputs: x [H, W, C]. As torch's interpolate with align_corners = false, no antialias; bicubic
/// has a = -0.75. The scale is the ratio of the sizes.
struct Resize {
  ResizeMode mode = ResizeMode::bilinear;
  std::int64_t height = 0;
  std::int64_t width = 0;
};
/// Mean over `axes` (ascending), which disappear: [H, W, C] over {0, 1} is the global average pool.
struct Mean {
  std::vector<int> axes;
};

using Operator =
    std::variant<Conv2d, Linear, LayerNorm, BatchNorm, Attention, Activate, Softmax, Add, Mul,
                 Concat, Slice, Reshape, Transpose, Resize, Mean, FakeQuantize>;

/// "conv2d", "layer_norm", ...
std::string_view operator_name(const Operator& op);

struct Value {
  std::string name;
  Dims dims;
  std::optional<Constant> constant;  ///< stored numbers; absent for activations
};

struct Node {
  std::string name;
  Operator op;
  std::vector<ValueId> inputs;
  ValueId output = kNone;
  /// fp32 but for linear, ungrouped conv2d, and attention (all of q, k, v and the probabilities).
  Precision precision = Precision::fp32;
  numerics::AffineU8 input_quantization{};  ///< at int8
  std::vector<float> input_scales{};        ///< at fp8: one, attention has three
  Role role = Role::none;
};

/// Whether the operator can take its operands at `precision` at all: linear and ungrouped conv2d
/// at any, attention at fp32, fp16, bf16 and fp8, all others at fp32.
bool can_have(const Operator& op, Precision precision);

/// Where a Conv2d's or Linear's optional inputs stand.
inline constexpr std::size_t kWeightInput = 1;
inline constexpr std::size_t kBiasInput = 2;
inline constexpr std::size_t kResidualInput = 3;
inline constexpr std::size_t kWeightScaleInput = 4;
inline constexpr std::size_t kTensorScaleInput = 5;

struct Output {
  std::string name;  ///< "logits", "features"
  ValueId value = kNone;
};

struct Graph {
  std::string name;  ///< the architecture
  std::vector<Value> values;
  std::vector<Node> nodes;
  ValueId input = kNone;  ///< [H, W, 3], normalized
  std::vector<Output> outputs;

  [[nodiscard]] const Value& value(ValueId id) const { return values[id]; }
  /// The output's value; throws not_found.
  [[nodiscard]] ValueId output(std::string_view output_name) const;
};

/// Dims of the node's output from its inputs. Throws bad_input naming the node, what it got and
/// what it needs.
Dims infer_shape(const Graph& graph, const Node& node);

/// Checks everything that a backend relies on, for graphs that came out of a file: ids in range,
/// execution order, unique names, shapes that follow from the operators, constants whose bytes fit
/// their dims, precisions that the operators can have with all that each needs (int8: an i8 weight
/// without -128, scales above 0, depth ≤ kMaxInt8Depth; fp8: finite weights, scales above 0; nvfp4:
/// block scales that are finite and not below 0), and sizes within limits (rank ≤ 8, dims ≤
/// 2^24, elements ≤ 2^31 a value, ≤ 2^20 nodes). Throws corrupt.
void verify(const Graph& graph);

}  // namespace assay::graph
