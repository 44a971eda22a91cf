#include "base/hash.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <array>

#include "base/error.h"

namespace assay {

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1 ||
      size != digest.size()) {
    fail(ErrorKind::internal, "SHA-256 failed in the cryptography library");
  }
  std::string text;
  text.reserve(2 * digest.size());
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::uint64_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace assay
