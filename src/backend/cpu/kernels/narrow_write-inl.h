// Rows of fp32 numbers to the operands of a narrow product, for inclusion per Highway target.
#if defined(ASSAY_BACKEND_CPU_KERNELS_NARROW_WRITE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_NARROW_WRITE_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_NARROW_WRITE_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_NARROW_WRITE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>

#include "backend/cpu/kernels/narrow.h"
#include "backend/cpu/kernels/narrow_block.h"
#include "backend/cpu/kernels/narrow_convert-inl.h"
#include "backend/cpu/kernels/narrow_tile_activation-inl.h"
#include "backend/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Converts `count` numbers a vector at a time: `store(d, vector, to)` writes one of operands of
/// `size` bytes.
template <class Store>
HWY_INLINE void write_operands(const float* x, std::int64_t count, std::int64_t size, std::byte* to,
                               const Store& store) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(d, hn::LoadU(d, x + i), to + i * size);
  if (i < count) {
    HWY_ALIGN std::byte last[kLanes * 2];
    store(d, LoadPartial(d, x + i, count - i), last);
    std::memcpy(to + i * size, last, static_cast<std::size_t>((count - i) * size));
  }
}

inline HWY_NOINLINE void write_bf16(const ConvertArgs& args) {
  for (int r = 0; r < args.rows; ++r) {
    write_operands(args.x + r * args.stride, args.count, 2, args.to + r * args.to_stride,
                   [](auto d, auto v, std::byte* out) HWY_ATTR { store_bf16(d, v, out); });
  }
}

#if HWY_TARGET == HWY_AVX3
/// How numerics::AffineU8::encode() computes, in registers.
struct U8Format {
  explicit HWY_INLINE U8Format(const numerics::AffineU8& format)
      : inverse(_mm512_set1_ps(1.0F / format.scale)),
        zero_point(_mm512_set1_ps(static_cast<float>(format.zero_point))) {}
  __m512 inverse;
  __m512 zero_point;
};

/// Rounded codes that saturate to 0 … 255 when they are narrowed. NaN and what is far below become
/// the lowest integer, as the conversion has it; what is far above is bounded first.
HWY_INLINE __m512i wide_codes(const U8Format& format, __m512 x) {
  const __m512 code = _mm512_fmadd_ps(x, format.inverse, format.zero_point);
  return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(255.0F), code));
}

/// The codes of four vectors, one behind the other. Narrowing works in each 128 bits, so that
/// quarters of the four vectors alternate and are put in order at last.
HWY_INLINE __m512i four_of_codes(const U8Format& format, __m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512i low = _mm512_packs_epi32(wide_codes(format, a), wide_codes(format, b));
  const __m512i high = _mm512_packs_epi32(wide_codes(format, c), wide_codes(format, d));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
}
#endif

/// The codes of some vectors, one behind the other.
template <class D, int kCount>
HWY_INLINE void store_codes(D d, const Side<D, kCount>& x, const numerics::AffineU8& format,
                            std::byte* to) {
#if HWY_TARGET == HWY_AVX3
  static_assert(kCount % 4 == 0, "four vectors fill a register with their codes");
  const U8Format registers(format);
  for (int i = 0; i < kCount; i += 4) {
    _mm512_store_si512(to + i * 16, four_of_codes(registers, x.at[i].raw, x.at[i + 1].raw,
                                                  x.at[i + 2].raw, x.at[i + 3].raw));
  }
#elif HWY_TARGET == HWY_AVX2
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  for (int i = 0; i < kCount; ++i) store_u8(d, x.at[i], format, to + i * kLanes);
#else
  // The codes must be those of the other targets, whose multiply-adds round once.
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  HWY_ALIGN float numbers[kCount * kLanes];
  for (int i = 0; i < kCount; ++i) hn::Store(x.at[i], d, numbers + i * kLanes);
  for (int i = 0; i < kCount * kLanes; ++i)
    to[i] = static_cast<std::byte>(format.encode(numbers[i]));
#endif
}

/// Rows of codes; see ConvertArgs.
inline HWY_NOINLINE void write_u8(numerics::AffineU8 format, const ConvertArgs& args) {
#if HWY_TARGET == HWY_AVX3
  const U8Format registers(format);
#endif
  for (int r = 0; r < args.rows; ++r) {
    const float* const x = args.x + r * args.stride;
    std::byte* const to = args.to + r * args.to_stride;
#if HWY_TARGET == HWY_AVX3
    std::int64_t i = 0;
    for (; i + 64 <= args.count; i += 64) {
      const float* const from = x + i;
      const __m512i codes =
          four_of_codes(registers, _mm512_loadu_ps(from), _mm512_loadu_ps(from + 16),
                        _mm512_loadu_ps(from + 32), _mm512_loadu_ps(from + 48));
      _mm512_storeu_si512(to + i, codes);
    }
    for (; i < args.count; i += 16) {
      const std::int64_t left = args.count - i;
      const auto inside = static_cast<__mmask16>(left >= 16 ? 0xFFFFU : (1U << left) - 1);
      const __m512i codes = wide_codes(registers, _mm512_maskz_loadu_ps(inside, x + i));
      // Narrowed in a register: narrowing stores under a mask take several times as long.
      const __m128i narrow =
          _mm512_cvtusepi32_epi8(_mm512_max_epi32(codes, _mm512_setzero_si512()));
      if (left >= 16) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), narrow);
      } else {
        _mm_mask_storeu_epi8(to + i, inside, narrow);
      }
    }
#elif HWY_TARGET == HWY_AVX2
    write_operands(x, args.count, 1, to,
                   [&](auto d, auto v, std::byte* out) HWY_ATTR { store_u8(d, v, format, out); });
#else
    for (std::int64_t i = 0; i < args.count; ++i) {
      to[i] = static_cast<std::byte>(format.encode(x[i]));
    }
#endif
  }
}

/// Rows of fp32 numbers to operands of products with `b`.
HWY_INLINE void write_rows(const NarrowMatrix& b, const NarrowKernels& kernels,
                           const ConvertArgs& args) {
  if (b.precision == graph::Precision::bf16) {
    kernels.to_bf16(args);
  } else {
    write_u8(b.input, args);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
