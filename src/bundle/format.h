#pragma once
/// The bundle's layout on disk, which docs/bundle-format.md tells in full. All numbers are
/// little-endian.
///
///     0   8  magic: 89 'A' 'S' 'S' 'A' 'Y' 0D 0A
///     8   4  format version
///     12  4  header length H, in bytes
///     16  8  file size
///     24  8  XXH3-64 of the H header bytes
///     32  24 zero
///     56  8  XXH3-64 of bytes 0 ... 55
///     64  H  header: a JSON object in UTF-8
///            zero up to a multiple of 64: here the data begin
///            sections, each padded with zeros to a multiple of 64, one behind the other
///
/// Sections have no order but the header's and no gaps, so where each must lie follows from the
/// sizes alone; offsets that say otherwise (overlapping, aliasing, leaving the file) are corrupt.
/// The magic's first byte is not ASCII and its last two are a line end, so that a transfer as text
/// is found at once. The file is mapped, and 64 is a cache line and the widest vector.
///
/// What stays in every later version: the magic, the version's place, and the checksum at 56 over
/// the 56 bytes before it; so an old reader can tell a newer file from a damaged one.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "numerics/dtype.h"

namespace assay::bundle {

inline constexpr std::array<std::uint8_t, 8> kMagic{0x89, 'A', 'S', 'S', 'A', 'Y', '\r', '\n'};
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kAlignment = 64;
inline constexpr std::size_t kPreambleBytes = 64;
/// Parsed JSON takes many times its text; a header of a thousand layers has 1 MB.
inline constexpr std::uint32_t kMaxHeaderBytes = 16u << 20;

/// `size` rounded up to the alignment. The caller keeps it far from overflow.
constexpr std::uint64_t align(std::uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// The first 64 bytes.
struct Preamble {
  std::uint32_t version = kFormatVersion;
  std::uint32_t header_bytes = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t header_checksum = 0;
  /// Where the sections begin.
  [[nodiscard]] std::uint64_t data_begin() const { return align(kPreambleBytes + header_bytes); }
};

std::array<std::byte, kPreambleBytes> encode(const Preamble& preamble);

/// The inverse, for bytes that nobody vouches for. Throws bad_input (not a bundle), corrupt, or
/// unsupported (a newer version). Sizes are plausible by themselves but not yet held against the
/// file.
Preamble decode_preamble(std::span<const std::byte> file);

/// The feature of bundles whose products take narrow operands: nodes with a precision of their own,
/// sections of other types than F32, and a calibration among the provenance.
inline constexpr const char* kPrecisionFeature = "precision";
/// Announces the recipe among the provenance.
inline constexpr const char* kRecipeFeature = "recipe";
/// Announces optimization level 3 and its field `tuning`.
inline constexpr const char* kTuningFeature = "tuning";

/// One section of the data, as the header's table has it.
struct Section {
  DType dtype = DType::f32;
  std::uint64_t offset = 0;  ///< from data_begin()
  std::uint64_t size = 0;    ///< bytes without padding
  std::uint64_t checksum = 0;
};

}  // namespace assay::bundle
