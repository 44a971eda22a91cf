#pragma once
/// The two inner loops of a resize, compiled for several instruction sets and chosen at run time.
/// Both are exact: integers only, whatever the order of their sums.
#include <cstddef>
#include <cstdint>

namespace assay::image {

inline constexpr int kRowsAtOnce = 4;           ///< rows that one call of filter_along_rows() takes
inline constexpr int kTapsPerChunk = 4;         ///< taps (pixels) that one step of it takes
inline constexpr std::size_t kChunkBytes = 12;  ///< their bytes
inline constexpr std::size_t kChunkLoad = 16;   ///< bytes that it reads for them
inline constexpr std::size_t kRowSlack = 16;    ///< bytes past its end that an output row must have
inline constexpr int kOutputsAtOnce = 4;        ///< RowWeights::outputs is a multiple of this

/// A weight w is kept as two 16-bit halves, w = high * 4096 + low with low signed, so that a pair
/// of taps is one multiply-and-add of 16-bit numbers for each half.
inline constexpr int kLowBits = 12;

/// How filter_along_rows() makes outputs [0, outputs) of a row. Per output and chunk of four taps,
/// `packed` has four words: high halves of taps 0 and 1 (tap 0 in the low 16 bits), high halves of
/// 2 and 3, then the low halves of both.
struct RowWeights {
  std::size_t outputs = 0;
  std::size_t chunks = 0;
  const std::int32_t* start = nullptr;  ///< byte offset of each output's first tap
  const std::int32_t* packed = nullptr;
};

/// Filters four rows of RGB along x. Reads kChunkLoad bytes at start + kChunkBytes * chunk for
/// every chunk; writes outputs * 3 bytes and up to kRowSlack more.
void filter_along_rows(const RowWeights& weights, const std::uint8_t* const* in,
                       std::uint8_t* const* out);

/// Weighs `pairs` * 2 rows into one, byte by byte: per pair, `packed` has the two high halves and
/// then the two low ones. Reads and writes exactly `bytes` bytes of a row.
void filter_across_rows(const std::int32_t* packed, std::size_t pairs,
                        const std::uint8_t* const* in, std::size_t bytes, std::uint8_t* out);

}  // namespace assay::image
