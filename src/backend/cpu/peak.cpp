#include "backend/cpu/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "backend/cpu/fma_peak.h"
#include "backend/cpu/isa.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace assay::backend::cpu {
namespace {

using graph::Precision;

/// A loop of products: does `rounds` of them and returns the operations done.
using Loop = double (*)(std::int64_t rounds);

#ifdef __x86_64__

#define ASSAY_AMX __attribute__((target("amx-tile,amx-bf16,amx-int8")))
#define ASSAY_DOT __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx512bf16")))

struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

constexpr TileConfiguration kConfiguration;

template <bool kBf16>
ASSAY_AMX double multiply_tiles(std::int64_t rounds) {
  _tile_loadconfig(&kConfiguration);
  for (std::int64_t i = 0; i < rounds; ++i) {
    if constexpr (kBf16) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    } else {
      _tile_dpbusd(0, 4, 6);
      _tile_dpbusd(1, 4, 7);
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_release();
  return static_cast<double>(rounds) * 4 * 2 * 16 * 16 * (kBf16 ? 32 : 64);
}

constexpr int kSums = 12;

ASSAY_DOT double multiply_bytes(std::int64_t rounds) {
  __m512i sums[kSums] = {};
  const __m512i x = _mm512_set1_epi32(0x01020304);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) {
      sums[s] = _mm512_dpbusd_epi32(sums[s], x, x);
      asm volatile("" : "+v"(sums[s]));  // or nothing would be computed
    }
  }
  return static_cast<double>(rounds) * kSums * 2 * 64;
}

ASSAY_DOT double multiply_pairs(std::int64_t rounds) {
  __m512 sums[kSums] = {};
  const auto x = (__m512bh)_mm512_set1_epi32(0x3F803F80);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) {
      sums[s] = _mm512_dpbf16_ps(sums[s], x, x);
      asm volatile("" : "+v"(sums[s]));
    }
  }
  return static_cast<double>(rounds) * kSums * 2 * 32;
}

Loop loop_of(Precision precision) {
  const Isa isa = active_isa();
  const bool bf16 = precision == Precision::bf16;
  if (precision == Precision::fp32) return nullptr;
  if (isa >= Isa::amx) return bf16 ? &multiply_tiles<true> : &multiply_tiles<false>;
  if (bf16 && isa >= Isa::avx512_bf16) return &multiply_pairs;
  if (!bf16 && isa >= Isa::avx512_vnni) return &multiply_bytes;
  return nullptr;
}

#else

Loop loop_of(Precision /*precision*/) { return nullptr; }

#endif

}  // namespace

double measure_peak(Precision precision) {
  using Clock = std::chrono::steady_clock;
  const Loop loop = loop_of(precision);
  if (loop == nullptr) return measure_fma_peak();
  double best = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Clock::time_point before = Clock::now();
    const double operations = loop(50000);
    const double seconds = std::chrono::duration<double>(Clock::now() - before).count();
    best = std::max(best, operations / seconds / 1e9);
  }
  return best;
}

}  // namespace assay::backend::cpu
