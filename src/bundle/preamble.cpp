#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "bundle/format.h"

namespace assay::bundle {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied as they are; a big-endian machine needs swaps here");

constexpr std::size_t kChecksumOffset = 56;

template <typename T>
T get(std::span<const std::byte> bytes, std::size_t offset) {
  T number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

template <typename T>
void put(std::span<std::byte> bytes, std::size_t offset, T number) {
  std::memcpy(bytes.data() + offset, &number, sizeof number);
}

void check_magic(std::span<const std::byte> file) {
  const auto given = file.first(std::min(file.size(), kMagic.size()));
  if (given.size() == kMagic.size() && std::memcmp(given.data(), kMagic.data(), kMagic.size()) == 0)
    return;
  fail(ErrorKind::bad_input,
       "not an Assay bundle: the file does not begin with a bundle's magic number (make one with "
       "`assay build CHECKPOINT -o FILE`)");
}

}  // namespace

std::array<std::byte, kPreambleBytes> encode(const Preamble& preamble) {
  std::array<std::byte, kPreambleBytes> bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  put(bytes, 8, preamble.version);
  put(bytes, 12, preamble.header_bytes);
  put(bytes, 16, preamble.file_bytes);
  put(bytes, 24, preamble.header_checksum);
  put(bytes, kChecksumOffset, xxh3_64(std::span(bytes).first(kChecksumOffset)));
  return bytes;
}

Preamble decode_preamble(std::span<const std::byte> file) {
  check_magic(file);
  if (file.size() < kPreambleBytes)
    fail(ErrorKind::corrupt, "truncated: {} bytes, a bundle has at least {}", file.size(),
         kPreambleBytes);
  if (get<std::uint64_t>(file, kChecksumOffset) != xxh3_64(file.first(kChecksumOffset)))
    fail(ErrorKind::corrupt, "preamble checksum mismatch: the first {} bytes were changed",
         kPreambleBytes);
  Preamble preamble;
  preamble.version = get<std::uint32_t>(file, 8);
  if (preamble.version > kFormatVersion)
    fail(ErrorKind::unsupported,
         "format version {}, but this build of Assay reads versions up to {}: update Assay, or "
         "build the bundle again from its checkpoint with this one",
         preamble.version, kFormatVersion);
  if (preamble.version == 0) fail(ErrorKind::corrupt, "format version 0, which never was");
  preamble.header_bytes = get<std::uint32_t>(file, 12);
  preamble.file_bytes = get<std::uint64_t>(file, 16);
  preamble.header_checksum = get<std::uint64_t>(file, 24);
  const auto reserved = file.subspan(32, kChecksumOffset - 32);
  if (std::ranges::any_of(reserved, [](std::byte b) { return b != std::byte{0}; }))
    fail(ErrorKind::corrupt, "reserved bytes of the preamble are not zero");
  if (preamble.header_bytes > kMaxHeaderBytes)
    fail(ErrorKind::corrupt, "header of {} bytes, the limit is {}", preamble.header_bytes,
         kMaxHeaderBytes);
  return preamble;
}

}  // namespace assay::bundle
