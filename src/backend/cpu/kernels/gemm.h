#pragma once
/// C = activation(A · B + bias) + residual in fp32, B packed once when a plan is made.
///
/// A is read in place through two levels of strides and a list of segments, so that one kernel
/// serves a linear layer (one line of rows, one segment), a convolution over a padded image (a line
/// is an output row of the image, a segment is a row of the kernel window) and a patch embedding
/// (the same without padding): no im2col copy is ever made.
///
/// Every element of C is bias plus the products in the order of k, whatever the blocking, the share
/// and the number of threads: results depend on the instruction set alone.
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/aligned_buffer.h"
#include "backend/cpu/isa.h"
#include "graph/graph.h"

namespace assay::backend::cpu {

/// Some adjacent columns of B, stored [K][units * unit], columns past N as zeros.
struct Panel {
  std::int64_t offset = 0;  ///< of the panel, in floats
  std::int64_t column = 0;  ///< first column
  int units = 0;            ///< width in units, 1 to 4
};

/// B [K, N] in the order in which the kernel of one instruction set reads it, and the bias.
struct PackedMatrix {
  Isa isa = Isa::portable;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::vector<Panel> panels;
  const float* data = nullptr;  ///< in the pool that it was packed into
  const float* bias = nullptr;  ///< zeros where there is none, padded to the panels' widths
};

/// Packs `weight` [N, K] (row-major, as linear layers store it) for the active instruction set.
/// `bias` has N numbers or none. The matrix is usable as long as `pool`.
PackedMatrix pack_matrix(std::span<const float> weight, std::span<const float> bias, std::int64_t n,
                         std::int64_t k, ConstantPool& pool);

/// Where A, C and the residual are. Line l, row r of A starts at a + l * a_line + r * a_row and is
/// made of segments: segment s is `segment_length` floats from segment_offsets[s] on. Row r of C
/// starts at c + l * c_line + r * c_row. All strides and offsets are in floats.
struct GemmArgs {
  std::int64_t lines = 1;
  std::int64_t rows = 0;  ///< of each line
  const float* a = nullptr;
  std::int64_t a_line = 0;
  std::int64_t a_row = 0;
  std::span<const std::int64_t> segment_offsets;
  std::int64_t segment_length = 0;
  float* c = nullptr;
  std::int64_t c_line = 0;
  std::int64_t c_row = 0;
  const float* residual = nullptr;  ///< none where null
  std::int64_t residual_line = 0;
  std::int64_t residual_row = 0;
  graph::Activation activation = graph::Activation::none;
};

/// A part of a product: rows [row_begin, row_end) of all lines' rows, numbered line by line, times
/// panels [panel_begin, panel_end).
struct GemmShare {
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t panel_begin = 0;
  std::int64_t panel_end = 0;
};

/// The share of worker `worker` of `workers`: rows or columns or both are split so that the slowest
/// worker is done soonest and the least memory is read twice.
GemmShare gemm_share(const PackedMatrix& b, const GemmArgs& args, int worker, int workers);

/// Computes one share. C may be the residual itself; no other overlap is allowed.
void gemm(const PackedMatrix& b, const GemmArgs& args, const GemmShare& share);

}  // namespace assay::backend::cpu
