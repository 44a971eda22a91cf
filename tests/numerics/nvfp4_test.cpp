/// NVFP4 against ml_dtypes' answers, and its scales against the format's definition.
#include "numerics/nvfp4.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

namespace assay::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kScales = 127;  // codes of E4M3 that are neither negative nor NaN

Json golden() {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/golden/number_formats.json";
  return parse_json(read_text(path, 1 << 20), path).at("nvfp4");
}

E2m1::Code code_of(float number, int block_scale, float tensor_scale) {
  E2m1::Code code = 0;
  Nvfp4::encode({&number, 1}, static_cast<E4m3::Code>(block_scale), tensor_scale, {&code, 1});
  return code;
}

float decoded(int code, int block_scale, float tensor_scale) {
  return Nvfp4::decode(static_cast<E2m1::Code>(code), static_cast<E4m3::Code>(block_scale),
                       tensor_scale);
}

TEST(Nvfp4Format, DecodesEveryCodeAtEveryScaleAsTheReferenceDoes) {
  const Json answers = golden();
  for (const auto& [tensor_scale, digest] : answers.at("decode_sha256").items()) {
    std::vector<float> numbers;
    for (int scale = 0; scale < kScales; ++scale) {
      for (int code = 0; code < 16; ++code) {
        numbers.push_back(decoded(code, scale, std::stof(tensor_scale)));
      }
    }
    EXPECT_EQ(sha256_hex(std::as_bytes(std::span(numbers))), digest) << tensor_scale;
  }
}

/// Tensor scales of powers of two keep ties exact.
TEST(Nvfp4Format, TiesGoToTheEvenCodeAtEveryBlockScale) {
  for (const float tensor_scale : {1.0F, 0x1p-20F}) {
    for (int scale = 1; scale < kScales; ++scale) {
      for (int code = 0; code < 7; ++code) {
        const float tie =
            (decoded(code, scale, tensor_scale) + decoded(code + 1, scale, tensor_scale)) / 2;
        EXPECT_EQ(code_of(tie, scale, tensor_scale), code % 2 == 0 ? code : code + 1) << scale;
        EXPECT_EQ(code_of(tie * 0.999F, scale, tensor_scale), code) << scale;
        EXPECT_EQ(code_of(tie * 1.001F, scale, tensor_scale), code + 1) << scale;
        EXPECT_EQ(code_of(-tie, scale, tensor_scale), 8 + (code % 2 == 0 ? code : code + 1));
      }
    }
  }
}

TEST(Nvfp4Format, EncodingADecodedCodeGivesItBack) {
  for (const float tensor_scale : {1.0F, 0.0123F, 3e-5F}) {
    for (int scale = 1; scale < kScales; ++scale) {
      for (int code = 0; code < 16; ++code) {
        EXPECT_EQ(code_of(decoded(code, scale, tensor_scale), scale, tensor_scale), code);
      }
    }
  }
}

TEST(Nvfp4Format, SaturatesAndHasOneAnswerForScaleZero) {
  EXPECT_EQ(code_of(kInfinity, 56, 1.0F), 7);
  EXPECT_EQ(code_of(-3e38F, 1, 1e-30F), 15);
  EXPECT_EQ(code_of(123.0F, 0, 1.0F), 0);
}

/// By the scales' definition no number is cut off but by the rounding of its block's scale to E4M3,
/// half a step of which is 1/16 of it; so errors are at most half of E2M1's largest step, 2, plus
/// that share of 6, in units of the unrounded scale.
TEST(Nvfp4Format, BlocksOfEveryMagnitudeComeBackNear) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const std::size_t count : {1U, 7U, 16U}) {
    for (int exponent = -8; exponent <= 0; ++exponent) {
      std::vector<float> block(count);
      for (float& number : block) number = std::ldexp(uniform(random), exponent);
      float largest = 0;
      for (const float number : block) largest = std::max(largest, std::abs(number));
      const float tensor_scale = Nvfp4::tensor_scale(1.0F);
      EXPECT_FLOAT_EQ(tensor_scale, 1.0F / (448 * 6));
      const E4m3::Code scale = Nvfp4::block_scale(block, tensor_scale);
      EXPECT_EQ(scale, E4m3::encode(largest / 6 / tensor_scale));
      std::vector<E2m1::Code> codes(count);
      Nvfp4::encode(block, scale, tensor_scale, codes);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_NEAR(decoded(codes[i], scale, tensor_scale), block[i],
                    (1 + 6.0F / 16) * largest / 6);
      }
    }
  }
}

TEST(Nvfp4Format, ScalesOfZerosAreUsable) {
  const std::vector<float> zeros(16);
  EXPECT_EQ(Nvfp4::tensor_scale(0), 1.0F);
  EXPECT_EQ(Nvfp4::block_scale(zeros, 1.0F), 0);
  EXPECT_GT(1 / Nvfp4::tensor_scale(1e-40F), 0);
  EXPECT_TRUE(std::isfinite(1 / Nvfp4::tensor_scale(1e-40F)));
}

}  // namespace
}  // namespace assay::numerics
