#pragma once
/// Digests: SHA-256 where a person compares them, XXH3-64 where a flipped bit must be found fast.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace assay {

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);

/// XXH3 (64 bits, seed 0) of `bytes`.
std::uint64_t xxh3_64(std::span<const std::byte> bytes);

}  // namespace assay
