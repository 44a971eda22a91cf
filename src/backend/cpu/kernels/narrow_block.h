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

/// Work on an earlier block's sums that a kernel may do a piece at a time between its own steps:
/// tiles are multiplied by a unit of their own, and the vector units would wait for it.
struct Pending {
  void (*piece)(Pending& self) = nullptr;  ///< does the next piece; the caller counts
  int left = 0;                            ///< pieces

  void run(int count) {
    for (; count > 0 && left > 0; --count, --left) piece(*this);
  }
};

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
  Pending* pending = nullptr;  ///< done in part, or not at all
};

/// `rows` rows of `count` numbers, `stride` floats apart, to rows of bf16 that are `to_stride`
/// bytes apart. Any alignment.
struct ConvertArgs {
  const float* x = nullptr;
  std::int64_t stride = 0;
  int rows = 1;
  std::int64_t count = 0;
  std::byte* to = nullptr;
  std::int64_t to_stride = 0;
};

struct NarrowKernels {
  void (*bf16)(const BlockArgs& args) = nullptr;
  void (*int8)(const BlockArgs& args) = nullptr;
  void (*to_bf16)(const ConvertArgs& args) = nullptr;
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
void avx512_to_bf16(const ConvertArgs& args);
void amx_enter();
void amx_leave();
void amx_bf16_block(const BlockArgs& args);
void amx_int8_block(const BlockArgs& args);
#endif

}  // namespace assay::backend::cpu
