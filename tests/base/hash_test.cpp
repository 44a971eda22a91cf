#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace assay {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Sha256, KnownAnswersOfFips180) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(bytes(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Xxh3, KnownAnswersOfItsSpecification) {
  EXPECT_EQ(xxh3_64({}), 0x2D06800538D394C2U);
  EXPECT_EQ(xxh3_64(bytes("a")), 0xE6C632B61E964E1FU);
}

TEST(Xxh3, ChangesWithEveryBit) {
  std::string text(300, 'x');
  const std::uint64_t before = xxh3_64(bytes(text));
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(xxh3_64(bytes(text)), before) << "bit " << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
  }
}

}  // namespace
}  // namespace assay
