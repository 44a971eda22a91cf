/// MXFP4 and its E8M0 scales against ml_dtypes' answers.
#include "numerics/mxfp4.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

namespace assay::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kBlock = Mxfp4::kBlock;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Json golden(const std::string& format) {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/golden/number_formats.json";
  return parse_json(read_text(path, 1 << 20), path).at(format);
}

/// The digest of the numbers with one NaN for all.
std::string digest(std::vector<float> numbers) {
  for (float& number : numbers) {
    if (std::isnan(number)) number = std::bit_cast<float>(0x7FC00000U);
  }
  return sha256_hex(std::as_bytes(std::span(numbers)));
}

std::vector<float> floats_from_hex(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

E2m1::Code code_of(float number, E8m0::Code scale) {
  E2m1::Code code = 0;
  Mxfp4::encode({&number, 1}, scale, {&code, 1});
  return code;
}

TEST(E8m0Format, DecodesEveryCodeAsTheReferenceDoes) {
  std::vector<float> numbers;
  for (int code = 0; code < 256; ++code) {
    numbers.push_back(E8m0::decode(static_cast<E8m0::Code>(code)));
    if (code < 255) {
      EXPECT_EQ(numbers.back(), std::ldexp(1.0F, code - 127)) << code;
    }
  }
  EXPECT_TRUE(std::isnan(numbers.back()));
  EXPECT_EQ(digest(numbers), golden("e8m0").at("decode_sha256"));
}

TEST(Mxfp4Format, DecodesEveryCodeAtEveryScaleAsTheReferenceDoes) {
  std::vector<float> numbers;
  for (int scale = 0; scale < 256; ++scale) {
    for (int code = 0; code < 16; ++code) {
      numbers.push_back(
          Mxfp4::decode(static_cast<E2m1::Code>(code), static_cast<E8m0::Code>(scale)));
    }
  }
  EXPECT_EQ(digest(numbers), golden("mxfp4").at("decode_sha256"));
}

TEST(Mxfp4Format, EncodesBlocksOfEveryMagnitudeAsTheReferenceDoes) {
  const Json answers = golden("mxfp4");
  const std::vector<float> numbers = floats_from_hex(answers.at("numbers").get<std::string>());
  std::vector<E2m1::Code> codes;
  for (std::size_t block = 0; block * kBlock < numbers.size(); ++block) {
    const auto part = std::span(numbers).subspan(block * kBlock, kBlock);
    const E8m0::Code scale = Mxfp4::block_scale(part);
    EXPECT_EQ(scale, answers.at("scales").at(block)) << "block " << block;
    for (const float number : part) codes.push_back(code_of(number, scale));
  }
  ASSERT_EQ(codes.size(), 64 * kBlock);
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(codes))), answers.at("codes_sha256"));
}

/// At each scale whose ties and their neighbours are normal numbers of fp32.
TEST(Mxfp4Format, TiesGoToTheEvenCodeAtEveryScale) {
  for (int scale = 4; scale < 252; ++scale) {
    const auto block = static_cast<E8m0::Code>(scale);
    for (int code = 0; code < 7; ++code) {
      const auto decoded = [&](int of) {
        return Mxfp4::decode(static_cast<E2m1::Code>(of), block);
      };
      const float tie = (decoded(code) + decoded(code + 1)) / 2;
      EXPECT_EQ(code_of(tie, block), code % 2 == 0 ? code : code + 1) << tie;
      EXPECT_EQ(code_of(std::nextafter(tie, -kInfinity), block), code) << tie;
      EXPECT_EQ(code_of(std::nextafter(tie, kInfinity), block), code + 1) << tie;
      EXPECT_EQ(code_of(-tie, block), 8 + (code % 2 == 0 ? code : code + 1)) << tie;
    }
  }
}

TEST(Mxfp4Format, ScalesOfZerosOfShortBlocksAndOfWhatIsNotFinite) {
  const std::vector<float> zeros(5);
  EXPECT_EQ(Mxfp4::block_scale(zeros), 0);
  EXPECT_EQ(code_of(0.0F, 0), 0);
  EXPECT_EQ(Mxfp4::block_scale({}), 0);
  const std::vector<float> short_block{0.5F, -4.0F};
  EXPECT_EQ(Mxfp4::block_scale(short_block), E8m0::kBias);  // 4 is E2M1's largest power of two
  for (const float bad : {kInfinity, -kInfinity, kNan}) {
    const std::vector<float> numbers{1.0F, bad};
    EXPECT_EQ(Mxfp4::block_scale(numbers), E8m0::kNan);
  }
  EXPECT_TRUE(std::isnan(Mxfp4::decode(1, E8m0::kNan)));
}

/// A number far beyond what the scale was made for: the quotient passes fp32's range.
TEST(Mxfp4Format, SaturatesHoweverLargeTheQuotient) {
  EXPECT_EQ(code_of(3e38F, 0), 7);
  EXPECT_EQ(code_of(-3e38F, 0), 15);
  EXPECT_EQ(code_of(kInfinity, E8m0::kBias), 7);
}

}  // namespace
}  // namespace assay::numerics
