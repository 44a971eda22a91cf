#pragma once
/// What the host tells the device to do: one instruction a step, plain data that a kernel takes by
/// value. Every pointer is the device's. Host and device code include this.
#include "backend/cuda/kernels/chain.h"
#include "backend/cuda/kernels/ends.h"
#include "backend/cuda/kernels/view.h"

namespace assay::backend::cuda {

/// Where the rows of a product's first operand come from.
enum class Source : std::int32_t {
  rows,         ///< `a`, as it lies there
  layer_norm,   ///< act(layer_norm(a row))
  convolution,  ///< the pixels under the kernel, of the image `a`: [in_height × in_width, channels]
  depthwise,    ///< what a depthwise convolution makes of the image `a`: k channels
};

/// Pixels as a call hands them in: 8-bit, or normalized fp32 where `rgb` is null.
struct Pixels {
  const std::uint8_t* rgb = nullptr;
  const float* tensor = nullptr;
  float multiply[3] = {1, 1, 1};  ///< normalized = pixel × multiply + add
  float add[3] = {0, 0, 0};
};

/// out = act(A · Wᵀ × scale + bias) + residual, `rows` rows an image, `n` columns, sums in fp32.
struct Product {
  Source source = Source::rows;
  View a;
  View first;  ///< where `has_first`: row 0 of each image is read from here, and row
  std::int32_t has_first = 0;  ///< i > 0 from row i - 1 of `a` (sources rows and layer_norm)
  std::int32_t rows = 0, n = 0, k = 0;
  Window window;
  const float* norm_weight = nullptr;  ///< [k]: layer_norm
  const float* norm_bias = nullptr;
  float epsilon = 0;
  Act source_act = Act::none;               ///< after the layer norm, or the depthwise convolution
  const float* depthwise_weight = nullptr;  ///< [kernel_height × kernel_width][k]
  const float* depthwise_bias = nullptr;    ///< [k], or null

  Store operand = Store::f16;    ///< both operands: f16, bf16, e4m3 or f32
  float inverse_a_scale = 1;     ///< at e4m3: code = round(number × this)
  const void* weight = nullptr;  ///< [n][k_padded] of type `operand`, zeros behind k
  std::int32_t k_padded = 0;     ///< a multiple of 128 bytes
  const float* scale = nullptr;  ///< [n] at e4m3: a's scale × the weight's; null elsewhere
  const float* bias = nullptr;   ///< [n], or null
  Act act = Act::none;
  View residual;
  std::int32_t has_residual = 0;
  View out;
};

/// softmax(scale × q kᵀ) v, head by head. Heads lie `head_stride` columns apart and are `head_size`
/// wide; `sequences` of `queries` and `keys` rows an image.
struct Attention {
  View q, k, v, out;
  std::int32_t heads = 1, head_size = 0;
  std::int32_t q_head_stride = 0, k_head_stride = 0, v_head_stride = 0, out_head_stride = 0;
  std::int32_t sequences = 1, queries = 0, keys = 0;
  /// 0: sequence s, row r lies in row s × length + r. Else rows are pixels of a map `map_width`
  /// wide in `patch` × `patch` patches: sequence (y, x) = (s / patch, s % patch), row r is the
  /// pixel (r / (map_width / patch) × patch + y, r % (map_width / patch) × patch + x).
  std::int32_t map_width = 0, patch = 0;
  float scale = 1;
  Store operand = Store::f16;  ///< f16, bf16, f32; e4m3: as graph.h says of attention at fp8
  float q_scale = 1, k_scale = 1, v_scale = 1;  ///< at e4m3
};

/// Copies numbers of up to five dims, any strides, converting between stores. Per image.
struct Copy {
  View from, to;  ///< row strides are not used
  std::int32_t dims[5] = {1, 1, 1, 1, 1};
  std::int64_t from_strides[5] = {0, 0, 0, 0, 0};
  std::int64_t to_strides[5] = {0, 0, 0, 0, 0};
};

/// Writes the call's pixels, normalized, into `to`: [rows, 3], and zeros behind them where rows are
/// further apart.
struct Normalize {
  std::int32_t rows = 0;
  View to;
};

enum class Combine : std::int32_t { add, mul };
/// out = a (+ or ×) b over rows; b may have fewer rows and one image (it repeats), or one column.
struct Binary {
  Combine combine = Combine::add;
  View a, b, out;
  std::int32_t rows = 0, width = 0;
  std::int32_t b_rows = 0;   ///< b's row is r % b_rows
  std::int32_t b_width = 0;  ///< width, or 1
};

enum class RowKind : std::int32_t { activate, layer_norm, affine, softmax, fake_quantize };
/// One row in, one row out. affine: x × weight + bias by column.
struct Rowwise {
  RowKind kind = RowKind::activate;
  View in, out;
  std::int32_t rows = 0, width = 0;
  Act act = Act::none;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
  /// fake_quantize: scale × round(x / scale) in this format (u8: affine with zero_point).
  Store format = Store::f16;
  float scale = 1;
  std::int32_t zero_point = 0;
};

/// Grouped convolution with fp32 weights [kh × kw][channels] (depthwise), or [O][I/groups][kh][kw]
/// where `groups` is not the channels.
struct Grouped {
  View in, out;
  Window window;
  std::int32_t out_rows = 0, out_channels = 0, groups = 1;
  std::int32_t depthwise = 0;
  const float* weight = nullptr;
  const float* bias = nullptr;
  Act act = Act::none;
  View residual;
  std::int32_t has_residual = 0;
};

/// An inverted residual: a pointwise convolution that expands, SiLU, a depthwise 3 × 3 convolution
/// with one pixel of padding, SiLU, and a pointwise convolution that projects; where
/// `has_residual`, plus the image itself. All views are f16, in aligned octets.
struct Inverted {
  View in, out;
  std::int32_t in_height = 0, in_width = 0, out_height = 0, out_width = 0;
  std::int32_t channels = 0, expanded = 0, out_channels = 0;
  std::int32_t stride = 1;
  std::int32_t has_residual = 0;
  const std::byte* weights = nullptr;  ///< as inverted_shape.h says
  const float* bias = nullptr;         ///< [out_channels]
};

/// As graph::Resize, channels-last. The tables have `taps` entries an output line or column.
struct Resize {
  View in, out;
  std::int32_t in_height = 0, in_width = 0, out_height = 0, out_width = 0, channels = 0;
  std::int32_t taps = 0;               ///< 2 bilinear, 4 bicubic
  const std::int32_t* rows = nullptr;  ///< [out_height][taps], clamped source lines
  const float* row_weights = nullptr;
  const std::int32_t* columns = nullptr;  ///< [out_width][taps]
  const float* column_weights = nullptr;
};

/// Mean over the middle of dims seen as [outer, count, inner]: out [outer, inner].
struct Mean {
  View in, out;
  std::int32_t outer = 1, count = 1, inner = 1;
};

enum class Op : std::int32_t {
  product,
  attention,
  copy,
  normalize,
  binary,
  rowwise,
  grouped,
  resize,
  mean,
  chain,
  inverted,
  stem,
  pooled
};

struct Instruction {
  Op op = Op::copy;
  /// Instructions of one phase need nothing of each other; a phase needs all those before it.
  std::int32_t phase = 0;
  const Chain* chain_on_device =
      nullptr;  ///< where `chain` lies there: kernels read it, long as it is
  union {
    Product product;
    Attention attention;
    Copy copy;
    Normalize normalize;
    Binary binary;
    Rowwise rowwise;
    Grouped grouped;
    Resize resize;
    Mean mean;
    Chain chain;
    Inverted inverted;
    Stem stem;
    Pooled pooled;
  };
  Instruction() : copy() {}
  explicit Instruction(const Product& x) : op(Op::product), product(x) {}
  explicit Instruction(const Attention& x) : op(Op::attention), attention(x) {}
  explicit Instruction(const Copy& x) : op(Op::copy), copy(x) {}
  explicit Instruction(const Normalize& x) : op(Op::normalize), normalize(x) {}
  explicit Instruction(const Binary& x) : op(Op::binary), binary(x) {}
  explicit Instruction(const Rowwise& x) : op(Op::rowwise), rowwise(x) {}
  explicit Instruction(const Grouped& x) : op(Op::grouped), grouped(x) {}
  explicit Instruction(const Resize& x) : op(Op::resize), resize(x) {}
  explicit Instruction(const Mean& x) : op(Op::mean), mean(x) {}
  explicit Instruction(const Chain& x) : op(Op::chain), chain(x) {}
  explicit Instruction(const Inverted& x) : op(Op::inverted), inverted(x) {}
  explicit Instruction(const Stem& x) : op(Op::stem), stem(x) {}
  explicit Instruction(const Pooled& x) : op(Op::pooled), pooled(x) {}
};

/// What a call adds to the instructions.
struct Call {
  Pixels pixels;
  std::int32_t batch = 1;
};

}  // namespace assay::backend::cuda
