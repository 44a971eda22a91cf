// Blocks of bf16 products summed in fp32 by AVX512-BF16's VDPBF16PS, and conversion. The
// instruction set is asked for function by function: what the compiler makes for this whole file
// must run on any x86-64.
#ifdef __x86_64__
#include <immintrin.h>

#include <cstring>

#include "backend/cpu/kernels/narrow_block.h"

#define ASSAY_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace assay::backend::cpu {
namespace {

/// With 16 sums in registers there are twice as many independent chains as the latency needs.
constexpr int kStripRows = 8;

ASSAY_BF16 inline __m512i pair_of(const std::byte* row) {
  std::int32_t word = 0;
  std::memcpy(&word, row, sizeof(word));
  return _mm512_set1_epi32(word);
}

template <int kVectors>
ASSAY_BF16 void strip(const BlockArgs& args, const std::byte* a, float* sums) {
  __m512 sum[kStripRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kStripRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  const std::byte* b = args.b;
  for (std::int64_t k = 0; k < args.row_bytes; k += 4, b += kVectors * 64) {
    __m512i column[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) column[v] = _mm512_load_si512(b + v * 64);
#pragma GCC unroll 8
    for (int r = 0; r < kStripRows; ++r) {
      const __m512i row = pair_of(a + r * args.row_bytes + k);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = _mm512_dpbf16_ps(sum[r][v], (__m512bh)row, (__m512bh)column[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kStripRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      _mm512_store_ps(sums + r * kPanelColumns + v * 16, sum[r][v]);
    }
  }
}

}  // namespace

void avx512_bf16_block(const BlockArgs& args) {
  for (int row = 0; row < args.rows; row += kStripRows) {
    const std::byte* const a = args.a + row * args.row_bytes;
    auto* const sums = static_cast<float*>(args.sums) + row * kPanelColumns;
    // Rows past the last are readable, and their sums have room.
    args.columns == kPanelColumns ? strip<2>(args, a, sums) : strip<1>(args, a, sums);
  }
}

ASSAY_BF16 void avx512_to_bf16(const ConvertArgs& args) {
  const std::int64_t whole = args.count / 32 * 32;
  for (int r = 0; r < args.rows; ++r) {
    const float* const x = args.x + r * args.stride;
    std::byte* const to = args.to + r * args.to_stride;
    for (std::int64_t i = 0; i < whole; i += 32) {
      const __m512bh codes =
          _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(x + i));
      _mm512_storeu_si512(to + 2 * i, (__m512i)codes);
    }
    for (std::int64_t i = whole; i < args.count; i += 16) {
      const std::int64_t left = args.count - i;
      const auto inside = static_cast<__mmask16>(left >= 16 ? 0xFFFFU : (1U << left) - 1);
      const __m256bh codes = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(inside, x + i));
      _mm256_mask_storeu_epi16(to + 2 * i, inside, (__m256i)codes);
    }
  }
}

}  // namespace assay::backend::cpu
#endif  // __x86_64__
