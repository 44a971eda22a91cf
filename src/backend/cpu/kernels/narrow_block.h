#pragma once
/// The parts of a narrow product that each instruction set does in its own way, and the table that
/// names them. Everything around them is written once (narrow_multiply.cpp, narrow_rows.cpp).
#include <cstddef>
#include <cstdint>

#include "backend/cpu/isa.h"

namespace assay::backend::cpu {

inline constexpr int kBlockRows = 32;
inline constexpr int kPanelColumns = 32;
/// Operands are read 64 bytes of k at a time: one AVX-512 register, one row of an AMX tile.
inline constexpr std::int64_t kStepBytes = 64;

/// One block of sums: `rows` × `columns` (of one panel) over all of k.
struct BlockArgs {
  const std::byte* a = nullptr;  ///< readable to kBlockRows rows
  std::int64_t row_bytes = 0;    ///< of A; a multiple of kStepBytes
  const std::byte* b = nullptr;  ///< the panel
  int rows = 0;                  ///< 1 to kBlockRows
  int columns = 0;               ///< 16 or 32
  /// [kBlockRows][kPanelColumns] sums, aligned to 64 bytes: fp32 or int32. Rows past `rows` may be
  /// written, too.
  void* sums = nullptr;
};

struct NarrowKernels {
  void (*bf16)(const BlockArgs& args) = nullptr;
  void (*int8)(const BlockArgs& args) = nullptr;
  /// Converts `count` numbers, for any alignment.
  void (*to_bf16)(const float* x, std::int64_t count, std::byte* to) = nullptr;
  /// Around any number of blocks on one thread; null where there is nothing to do.
  void (*enter)() = nullptr;
  void (*leave)() = nullptr;
};

/// The kernels of the instruction set in use.
NarrowKernels narrow_kernels();

/// Those that are written once for Highway's targets: every set has at least these.
NarrowKernels plain_narrow_kernels();
#ifdef __x86_64__
void vnni_block(const BlockArgs& args);
void avx512_bf16_block(const BlockArgs& args);
void avx512_to_bf16(const float* x, std::int64_t count, std::byte* to);
void amx_enter();
void amx_leave();
void amx_bf16_block(const BlockArgs& args);
void amx_int8_block(const BlockArgs& args);
#endif

}  // namespace assay::backend::cpu
