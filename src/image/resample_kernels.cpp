#include "image/resample_kernels.h"

#include <algorithm>

#include "image/resample_portable.h"
#include "image/taps.h"

// Few instruction sets, because each costs compile time; none whose vectors have no fixed size.
// clang-format off
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "image/resample_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace assay::image::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR

void along_rows(const RowWeights& weights, const std::uint8_t* const* in,
                std::uint8_t* const* out) {
  portable::filter_along_rows(weights, in, out);
}

void across_rows(const std::int32_t* packed, std::size_t pairs, const std::uint8_t* const* in,
                 std::size_t bytes, std::uint8_t* out) {
  portable::filter_across_rows(packed, pairs, in, bytes, out);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

// 64 bytes at most, and only fixed sizes, so that a vector is whole blocks of 16 bytes.
using Bytes8 = hn::CappedTag<std::uint8_t, 64>;
using Words16 = hn::Repartition<std::int16_t, Bytes8>;
using Words32 = hn::Repartition<std::int32_t, Bytes8>;
using V8 = hn::Vec<Bytes8>;
using V16 = hn::Vec<Words16>;
using V32 = hn::Vec<Words32>;
constexpr Bytes8 kBytes8;
constexpr Words16 kWords16;
constexpr Words32 kWords32;

constexpr std::uint8_t kZ = 0x80;  ///< an index for which TableLookupBytesOr0 gives 0

HWY_INLINE V8 lookup(V8 bytes, const std::uint8_t (&indices)[16]) {
  return hn::TableLookupBytesOr0(bytes, hn::LoadDup128(kBytes8, indices));
}

/// The two sums of products that make up a weighted sum, and how they come together.
struct Sum {
  V32 high, high_odd, low, low_odd;

  // Written out, here and below: GCC makes an implicit constructor without the target's features.
  HWY_INLINE Sum()
      : high(hn::Zero(kWords32)),
        high_odd(hn::Zero(kWords32)),
        low(hn::Zero(kWords32)),
        low_odd(hn::Zero(kWords32)) {}

  HWY_INLINE void add(V16 pairs, std::int32_t high_weights, std::int32_t low_weights) {
    const V16 hi = hn::BitCast(kWords16, hn::Set(kWords32, high_weights));
    const V16 lo = hn::BitCast(kWords16, hn::Set(kWords32, low_weights));
    high = hn::ReorderWidenMulAccumulate(kWords32, pairs, hi, high, high_odd);
    low = hn::ReorderWidenMulAccumulate(kWords32, pairs, lo, low, low_odd);
  }

  [[nodiscard]] HWY_INLINE V32 rounded() const {
    const V32 hi = hn::RearrangeToOddPlusEven(high, high_odd);
    const V32 lo = hn::RearrangeToOddPlusEven(low, low_odd);
    const V32 half = hn::Set(kWords32, 1 << (kWeightBits - 1));
    return hn::ShiftRight<kWeightBits>(hn::Add(hn::Add(hn::ShiftLeft<kLowBits>(hi), lo), half));
  }
};

/// Two vectors of sums as 16-bit words clipped to 0…255; each block has the first's words, then the
/// second's.
HWY_INLINE V16 clipped(V32 a, V32 b) {
  const V16 words = hn::ReorderDemote2To(kWords16, a, b);
  return hn::Min(hn::Max(words, hn::Zero(kWords16)), hn::Set(kWords16, 255));
}

/// Block i of the result is 16 bytes at in[i] + offset.
HWY_INLINE V8 load_blocks(const std::uint8_t* const* in, std::size_t offset) {
  const hn::Full128<std::uint8_t> block;
#if HWY_MAX_BYTES >= 64
  const hn::Full256<std::uint8_t> two;
  return hn::Combine(
      kBytes8, hn::Combine(two, hn::LoadU(block, in[3] + offset), hn::LoadU(block, in[2] + offset)),
      hn::Combine(two, hn::LoadU(block, in[1] + offset), hn::LoadU(block, in[0] + offset)));
#elif HWY_MAX_BYTES >= 32
  return hn::Combine(kBytes8, hn::LoadU(block, in[1] + offset), hn::LoadU(block, in[0] + offset));
#else
  return hn::LoadU(block, in[0] + offset);
#endif
}

HWY_INLINE void store_blocks(V8 bytes, std::uint8_t* const* out, std::size_t offset) {
  const hn::Full128<std::uint8_t> block;
#if HWY_MAX_BYTES >= 64
  const hn::Full256<std::uint8_t> two;
  const auto low = hn::LowerHalf(two, bytes);
  const auto high = hn::UpperHalf(two, bytes);
  hn::StoreU(hn::LowerHalf(block, low), block, out[0] + offset);
  hn::StoreU(hn::UpperHalf(block, low), block, out[1] + offset);
  hn::StoreU(hn::LowerHalf(block, high), block, out[2] + offset);
  hn::StoreU(hn::UpperHalf(block, high), block, out[3] + offset);
#elif HWY_MAX_BYTES >= 32
  hn::StoreU(hn::LowerHalf(block, bytes), block, out[0] + offset);
  hn::StoreU(hn::UpperHalf(block, bytes), block, out[1] + offset);
#else
  hn::StoreU(bytes, block, out[0] + offset);
#endif
}

/// Of 16 bytes that begin with a pixel, the channel pairs of taps 0 and 1, and of 2 and 3, in
/// words.
alignas(16) constexpr std::uint8_t kTaps01[16] = {0, kZ, 3, kZ, 1,  kZ, 4,  kZ,
                                                  2, kZ, 5, kZ, kZ, kZ, kZ, kZ};
alignas(16) constexpr std::uint8_t kTaps23[16] = {6, kZ, 9,  kZ, 7,  kZ, 10, kZ,
                                                  8, kZ, 11, kZ, kZ, kZ, kZ, kZ};
/// Of two pixels in words (R G B 0 R G B 0) their bytes, as the first or second half of 12.
alignas(16) constexpr std::uint8_t kFirstPixels[16] = {0,  2,  4,  8,  10, 12, kZ, kZ,
                                                       kZ, kZ, kZ, kZ, kZ, kZ, kZ, kZ};
alignas(16) constexpr std::uint8_t kSecondPixels[16] = {kZ, kZ, kZ, kZ, kZ, kZ, 0,  2,
                                                        4,  8,  10, 12, kZ, kZ, kZ, kZ};
/// The low bytes of eight words, as the first or second half of a block.
alignas(16) constexpr std::uint8_t kFirstBytes[16] = {0,  2,  4,  6,  8,  10, 12, 14,
                                                      kZ, kZ, kZ, kZ, kZ, kZ, kZ, kZ};
alignas(16) constexpr std::uint8_t kSecondBytes[16] = {kZ, kZ, kZ, kZ, kZ, kZ, kZ, kZ,
                                                       0,  2,  4,  6,  8,  10, 12, 14};

/// One output pixel of as many rows as a vector has blocks.
HWY_INLINE V32 row_output(const RowWeights& weights, std::size_t x, const std::uint8_t* const* in) {
  Sum sum;
  std::size_t at = static_cast<std::size_t>(weights.start[x]);
  const std::int32_t* word = weights.packed + x * weights.chunks * 4;
  for (std::size_t chunk = 0; chunk < weights.chunks; ++chunk, at += kChunkBytes, word += 4) {
    const V8 bytes = load_blocks(in, at);
    sum.add(hn::BitCast(kWords16, lookup(bytes, kTaps01)), word[0], word[2]);
    sum.add(hn::BitCast(kWords16, lookup(bytes, kTaps23)), word[1], word[3]);
  }
  return sum.rounded();
}

void along_rows(const RowWeights& weights, const std::uint8_t* const* in,
                std::uint8_t* const* out) {
  constexpr int kBlocks = static_cast<int>(hn::MaxLanes(kBytes8) / 16);
  static_assert(kRowsAtOnce % kBlocks == 0 && kOutputsAtOnce == 4);
  for (int row = 0; row < kRowsAtOnce; row += kBlocks) {
    for (std::size_t x = 0; x < weights.outputs; x += 4) {
      const V32 p0 = row_output(weights, x, in + row);
      const V32 p1 = row_output(weights, x + 1, in + row);
      const V32 p2 = row_output(weights, x + 2, in + row);
      const V32 p3 = row_output(weights, x + 3, in + row);
      const V8 first = lookup(hn::BitCast(kBytes8, clipped(p0, p1)), kFirstPixels);
      const V8 second = lookup(hn::BitCast(kBytes8, clipped(p2, p3)), kSecondPixels);
      store_blocks(hn::Or(first, second), out + row, x * 3);
    }
  }
}

/// A vector's worth of output bytes. Interleaving works within blocks, and packing undoes it.
HWY_INLINE V8 column_output(const std::int32_t* word, std::size_t pairs,
                            const std::uint8_t* const* in, std::size_t at) {
  const V8 zero = hn::Zero(kBytes8);
  Sum sum0, sum1, sum2, sum3;
  for (std::size_t pair = 0; pair < pairs; ++pair, word += 2) {
    const V8 a = hn::LoadU(kBytes8, in[pair * 2] + at);
    const V8 b = hn::LoadU(kBytes8, in[pair * 2 + 1] + at);
    const V8 low = hn::InterleaveLower(kBytes8, a, b);
    const V8 high = hn::InterleaveUpper(kBytes8, a, b);
    const auto widened = [](V8 bytes) HWY_ATTR { return hn::BitCast(kWords16, bytes); };
    sum0.add(widened(hn::InterleaveLower(kBytes8, low, zero)), word[0], word[1]);
    sum1.add(widened(hn::InterleaveUpper(kBytes8, low, zero)), word[0], word[1]);
    sum2.add(widened(hn::InterleaveLower(kBytes8, high, zero)), word[0], word[1]);
    sum3.add(widened(hn::InterleaveUpper(kBytes8, high, zero)), word[0], word[1]);
  }
  const V16 low = clipped(sum0.rounded(), sum1.rounded());
  const V16 high = clipped(sum2.rounded(), sum3.rounded());
  return hn::Or(lookup(hn::BitCast(kBytes8, low), kFirstBytes),
                lookup(hn::BitCast(kBytes8, high), kSecondBytes));
}

void across_rows(const std::int32_t* packed, std::size_t pairs, const std::uint8_t* const* in,
                 std::size_t bytes, std::uint8_t* out) {
  const std::size_t step = hn::Lanes(kBytes8);
  if (bytes < step) return portable::filter_across_rows(packed, pairs, in, bytes, out);
  for (std::size_t at = 0; at < bytes; at += step) {
    at = std::min(at, bytes - step);  // the last vector overlaps the one before it
    hn::StoreU(column_output(packed, pairs, in, at), kBytes8, out + at);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR
}  // namespace assay::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::image {

HWY_EXPORT(along_rows);
HWY_EXPORT(across_rows);

void filter_along_rows(const RowWeights& weights, const std::uint8_t* const* in,
                       std::uint8_t* const* out) {
  HWY_DYNAMIC_DISPATCH(along_rows)(weights, in, out);
}

void filter_across_rows(const std::int32_t* packed, std::size_t pairs,
                        const std::uint8_t* const* in, std::size_t bytes, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(across_rows)(packed, pairs, in, bytes, out);
}

}  // namespace assay::image
#endif  // HWY_ONCE
