/// Affine u8: every code, and every tie between two, against numpy's answers.
#include "numerics/int8.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
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

struct Case {
  AffineU8 affine;
  std::string numbers_sha256;
  std::string codes;
};

std::vector<Case> cases() {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/golden/number_formats.json";
  const Json golden = parse_json(read_text(path, 1 << 20), path);
  std::vector<Case> all;
  for (const Json& entry : golden.at("affine_u8")) {
    all.push_back({{entry.at("scale").get<float>(), entry.at("zero_point").get<std::uint8_t>()},
                   entry.at("numbers_sha256").get<std::string>(),
                   entry.at("codes").get<std::string>()});
  }
  return all;
}

/// Each tie between two neighbouring codes, from two below 0 to two above 255, and the fp32 below
/// and above it.
std::vector<float> ties(const AffineU8& affine) {
  std::vector<float> numbers;
  for (int code = -2; code < 258; ++code) {
    const auto tie = static_cast<float>((code + 0.5 - affine.zero_point) * affine.scale);
    numbers.insert(numbers.end(),
                   {tie, std::nextafter(tie, -kInfinity), std::nextafter(tie, kInfinity)});
  }
  return numbers;
}

TEST(AffineU8, EncodesEveryTieAndItsNeighboursAsTheReferenceDoes) {
  for (const auto& [affine, numbers_sha256, codes] : cases()) {
    SCOPED_TRACE(testing::Message() << affine.scale << ", " << int{affine.zero_point});
    const std::vector<float> numbers = ties(affine);
    ASSERT_EQ(sha256_hex(std::as_bytes(std::span(numbers))), numbers_sha256)
        << "the test no longer asks what the reference answered";
    std::string got;
    for (const float number : numbers) got += fmt::format("{:02x}", affine.encode(number));
    EXPECT_EQ(got, codes);
  }
}

TEST(AffineU8, EncodingADecodedCodeGivesItBack) {
  for (const auto& [affine, numbers_sha256, codes] : cases()) {
    for (int code = 0; code < 256; ++code) {
      const auto byte = static_cast<std::uint8_t>(code);
      EXPECT_EQ(affine.encode(affine.decode(byte)), code) << affine.scale;
      EXPECT_EQ(affine.decode(byte), affine.scale * static_cast<float>(code - affine.zero_point));
    }
  }
}

TEST(AffineU8, TiesGoToTheEvenCodeWhereTheScaleIsAPowerOfTwo) {
  const AffineU8 affine{0.0078125F, 128};
  for (int code = 0; code < 255; ++code) {
    const float tie = (static_cast<float>(code - 128) + 0.5F) * affine.scale;
    EXPECT_EQ(affine.encode(tie), code % 2 == 0 ? code : code + 1);
  }
}

TEST(AffineU8, SaturatesAndTakesNanForCode0) {
  const AffineU8 affine{0.05F, 100};
  EXPECT_EQ(affine.encode(kInfinity), 255);
  EXPECT_EQ(affine.encode(3e38F), 255);
  EXPECT_EQ(affine.encode(-kInfinity), 0);
  EXPECT_EQ(affine.encode(std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(affine.encode(0), 100);
}

}  // namespace
}  // namespace assay::numerics
