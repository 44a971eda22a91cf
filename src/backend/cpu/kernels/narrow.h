#pragma once
/// C = activation(A · B + bias) + residual with operands narrower than fp32: bf16 × bf16 summed in
/// fp32, or affine u8 × per-channel s8 summed exactly in int32.
///
/// Activations lie in memory as fp32; a product converts the rows it needs as it packs them (at
/// most a few percent of the product's own work), so no step exists only to convert. Where a
/// product's output goes straight into another one inside the same step, the epilogue writes it
/// packed.
///
/// Packed A: rows of `k_padded` operands, zeros (u8: any code) past k, each row 64-byte aligned.
/// Packed B: panels of 32 columns (the last may be 16), each [k_padded / g][columns][g] with g = 2
/// operands of bf16 or 4 of s8; this is what AMX tiles, AVX512-BF16 and VNNI dot products and the
/// widening fallbacks all read. Integer sums are the same bits on every instruction set.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/cpu/aligned_buffer.h"
#include "graph/graph.h"

namespace assay::backend::cpu {

struct NarrowMatrix {
  graph::Precision precision = graph::Precision::bf16;  ///< bf16 or int8
  std::int64_t k = 0;
  std::int64_t k_padded = 0;  ///< up to a multiple of 64 bytes
  std::int64_t n = 0;
  const std::byte* data = nullptr;
  const float* bias = nullptr;   ///< padded to panels; at int8 less what the zero point adds
  const float* scale = nullptr;  ///< at int8, a column: input scale × weight scale
  numerics::AffineU8 input;      ///< at int8

  [[nodiscard]] std::int64_t row_bytes() const {
    return k_padded * (precision == graph::Precision::bf16 ? 2 : 1);
  }
};

/// Packs `weight` [N, K] for bf16, rounding to nearest even. `bias` has N numbers or none. Lives as
/// long as `pool`.
NarrowMatrix pack_bf16(std::span<const float> weight, std::span<const float> bias, std::int64_t n,
                       std::int64_t k, ConstantPool& pool);
/// Packs stored s8 `weight` [N, K] with `weight_scale` [N] for inputs quantized by `input`.
NarrowMatrix pack_int8(std::span<const std::int8_t> weight, std::span<const float> weight_scale,
                       std::span<const float> bias, std::int64_t n, std::int64_t k,
                       const numerics::AffineU8& input, ConstantPool& pool);

/// y = (x - mean) / sqrt(variance + epsilon) · weight + bias over a row, before it is converted.
struct RowNorm {
  const float* weight = nullptr;  ///< null: rows are taken as they are
  const float* bias = nullptr;
  float epsilon = 0;
};

/// Where rows of A are: as in GemmArgs, line l, row r starts at a + l * a_line + r * a_row and is
/// made of segments of `segment_length` floats.
struct NarrowSource {
  const float* a = nullptr;
  std::int64_t rows = 0;  ///< of each line
  std::int64_t a_line = 0;
  std::int64_t a_row = 0;
  std::span<const std::int64_t> segment_offsets;
  std::int64_t segment_length = 0;
  RowNorm norm;  ///< with one segment only
};

/// Packs rows [begin, end), numbered line by line, for products with `b`: `out` has
/// (end - begin) * b.row_bytes() bytes, 64-byte aligned.
void pack_rows(const NarrowMatrix& b, const NarrowSource& source, std::int64_t begin,
               std::int64_t end, std::byte* out);

/// Where rows of C go: exactly one of `f32`, `packed`.
struct NarrowTarget {
  float* f32 = nullptr;   ///< line l, row r, column n at f32 + l * line + r * row + n
  std::int64_t rows = 0;  ///< of each line
  std::int64_t line = 0;
  std::int64_t row = 0;
  const float* residual = nullptr;  ///< none where null; only with f32, and may be f32 itself
  std::int64_t residual_line = 0;
  std::int64_t residual_row = 0;
  /// Packed A of a product with `next`: row 0 of the call goes to `packed`. Padding past N is
  /// zeroed.
  std::byte* packed = nullptr;
  const NarrowMatrix* next = nullptr;
  graph::Activation activation = graph::Activation::none;
};

/// Rows [begin, end) of C, columns of panels [panel_begin, panel_end), from packed rows `a` of
/// which the first is row `begin`. `a` must be readable (whatever it holds) up to the next multiple
/// of 32 rows.
void multiply_rows(const NarrowMatrix& b, const std::byte* a, std::int64_t begin, std::int64_t end,
                   std::int64_t panel_begin, std::int64_t panel_end, const NarrowTarget& target);

/// Panels of `b`.
std::int64_t panel_count(const NarrowMatrix& b);

}  // namespace assay::backend::cpu
