#include "image/resample_portable.h"

#include <algorithm>
#include <array>

#include "image/taps.h"

namespace assay::image::portable {
namespace {

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

std::uint8_t clipped(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

/// The two weights of a pair of taps from its packed halves.
std::array<std::int32_t, 2> unpack(std::int32_t high, std::int32_t low) {
  const auto weight = [](std::int32_t h, std::int32_t l) {
    return static_cast<std::int16_t>(h) * (1 << kLowBits) + static_cast<std::int16_t>(l);
  };
  return {weight(high, low), weight(high >> 16, low >> 16)};
}

}  // namespace

void filter_along_rows(const RowWeights& weights, const std::uint8_t* const* in,
                       std::uint8_t* const* out) {
  const std::int32_t* word = weights.packed;
  for (std::size_t x = 0; x < weights.outputs; ++x) {
    std::array<std::array<std::int32_t, 3>, kRowsAtOnce> sums;
    for (auto& sum : sums) sum.fill(kHalf);
    std::size_t at = static_cast<std::size_t>(weights.start[x]);
    for (std::size_t chunk = 0; chunk < weights.chunks; ++chunk, at += kChunkBytes, word += 4) {
      const auto [w0, w1] = unpack(word[0], word[2]);
      const auto [w2, w3] = unpack(word[1], word[3]);
      for (std::size_t row = 0; row < kRowsAtOnce; ++row) {
        const std::uint8_t* const tap = in[row] + at;
        for (std::size_t c = 0; c < 3; ++c) {
          sums[row][c] += tap[c] * w0 + tap[c + 3] * w1 + tap[c + 6] * w2 + tap[c + 9] * w3;
        }
      }
    }
    for (std::size_t row = 0; row < kRowsAtOnce; ++row) {
      for (std::size_t c = 0; c < 3; ++c) out[row][x * 3 + c] = clipped(sums[row][c]);
    }
  }
}

void filter_across_rows(const std::int32_t* packed, std::size_t pairs,
                        const std::uint8_t* const* in, std::size_t bytes, std::uint8_t* out) {
  constexpr std::size_t kBlock = 64;
  for (std::size_t begin = 0; begin < bytes; begin += kBlock) {
    const std::size_t size = std::min(kBlock, bytes - begin);
    std::array<std::int32_t, kBlock> sums;
    sums.fill(kHalf);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const auto [first, second] = unpack(packed[pair * 2], packed[pair * 2 + 1]);
      const std::uint8_t* const a = in[pair * 2] + begin;
      const std::uint8_t* const b = in[pair * 2 + 1] + begin;
      for (std::size_t i = 0; i < size; ++i) sums[i] += a[i] * first + b[i] * second;
    }
    for (std::size_t i = 0; i < size; ++i) out[begin + i] = clipped(sums[i]);
  }
}

}  // namespace assay::image::portable
