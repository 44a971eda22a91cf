// Blocks of exact int8 sums by AVX512-VNNI's VPDPBUSD. The instruction set is asked for function by
// function: what the compiler makes for this whole file must run on any x86-64.
#ifdef __x86_64__
#include <immintrin.h>

#include <cstring>

#include "backend/cpu/kernels/narrow_block.h"

#define ASSAY_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

namespace assay::backend::cpu {
namespace {

/// With 16 sums in registers there are twice as many independent chains as the latency needs.
constexpr int kStripRows = 8;

ASSAY_VNNI inline __m512i four_of(const std::byte* row) {
  std::int32_t word = 0;
  std::memcpy(&word, row, sizeof(word));
  return _mm512_set1_epi32(word);
}

template <int kVectors>
ASSAY_VNNI void strip(const BlockArgs& args, const std::byte* a, std::int32_t* sums) {
  __m512i sum[kStripRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kStripRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_si512();
  }
  const std::byte* b = args.b;
  for (std::int64_t k = 0; k < args.row_bytes; k += 4, b += kVectors * 64) {
    __m512i column[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) column[v] = _mm512_load_si512(b + v * 64);
#pragma GCC unroll 8
    for (int r = 0; r < kStripRows; ++r) {
      const __m512i row = four_of(a + r * args.row_bytes + k);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], row, column[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kStripRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      _mm512_store_si512(sums + r * kPanelColumns + v * 16, sum[r][v]);
    }
  }
}

}  // namespace

void vnni_block(const BlockArgs& args) {
  for (int row = 0; row < args.rows; row += kStripRows) {
    const std::byte* const a = args.a + row * args.row_bytes;
    auto* const sums = static_cast<std::int32_t*>(args.sums) + row * kPanelColumns;
    // Rows past the last are readable, and their sums have room.
    args.columns == kPanelColumns ? strip<2>(args, a, sums) : strip<1>(args, a, sums);
  }
}

}  // namespace assay::backend::cpu
#endif  // __x86_64__
