/// Every code of every format against ml_dtypes' answers, and every rounding tie against
/// arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "numerics/bf16.h"
#include "numerics/e2m1.h"
#include "numerics/e4m3.h"
#include "numerics/e5m2.h"
#include "numerics/fp16.h"

namespace assay::numerics {
namespace {

struct Fp16Case {
  using Format = Fp16;
  static constexpr int kBits = 16;
  static constexpr const char* kName = "fp16";
};
struct Bf16Case {
  using Format = Bf16;
  static constexpr int kBits = 16;
  static constexpr const char* kName = "bf16";
};
struct E4m3Case {
  using Format = E4m3;
  static constexpr int kBits = 8;
  static constexpr const char* kName = "e4m3";
};
struct E5m2Case {
  using Format = E5m2;
  static constexpr int kBits = 8;
  static constexpr const char* kName = "e5m2";
};
struct E2m1Case {
  using Format = E2m1;
  static constexpr int kBits = 4;
  static constexpr const char* kName = "e2m1";
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename Case>
class Formats : public testing::Test {
 protected:
  using Format = typename Case::Format;
  using Code = typename Format::Code;
  static constexpr int kCodes = 1 << Case::kBits;

  static Json golden() {
    const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/golden/number_formats.json";
    return parse_json(read_text(path, 1 << 20), path).at(Case::kName);
  }

  static float decode(int code) { return Format::decode(static_cast<Code>(code)); }

  /// The non-negative finite numbers, ascending: codes 0, 1, 2, ...
  static std::vector<float> finite() {
    std::vector<float> numbers;
    for (int code = 0; code < kCodes / 2 && std::isfinite(decode(code)); ++code) {
      numbers.push_back(decode(code));
    }
    return numbers;
  }
};

using Cases = testing::Types<Fp16Case, Bf16Case, E4m3Case, E5m2Case, E2m1Case>;
struct CaseNames {
  template <typename Case>
  static std::string GetName(int /*index*/) {
    return Case::kName;
  }
};
TYPED_TEST_SUITE(Formats, Cases, CaseNames);

TYPED_TEST(Formats, DecodesEveryCodeAsTheReferenceDoes) {
  std::vector<float> numbers;
  for (int code = 0; code < this->kCodes; ++code) {
    const float number = this->decode(code);
    numbers.push_back(std::isnan(number) ? std::bit_cast<float>(0x7FC00000U) : number);
  }
  const Json golden = this->golden();
  if (golden.contains("decode")) {
    for (int code = 0; code < this->kCodes; ++code) {
      const Json& expected = golden.at("decode").at(static_cast<std::size_t>(code));
      const float number = numbers[static_cast<std::size_t>(code)];
      if (expected.is_null()) {
        EXPECT_TRUE(std::isnan(number)) << "code " << code;
      } else {
        EXPECT_EQ(number, std::stof(expected.get<std::string>())) << "code " << code;
      }
    }
  }
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(numbers))), golden.at("decode_sha256"));
}

TYPED_TEST(Formats, EncodesEveryTieAndItsNeighboursAsTheReferenceDoes) {
  const std::vector<float> numbers = this->finite();
  std::vector<float> inputs;
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    const auto tie = static_cast<float>((static_cast<double>(numbers[i]) + numbers[i + 1]) / 2);
    inputs.insert(inputs.end(),
                  {tie, std::nextafter(tie, -kInfinity), std::nextafter(tie, kInfinity)});
  }
  const float largest = numbers.back();
  const double step = static_cast<double>(largest) - numbers[numbers.size() - 2];
  const auto edge = static_cast<float>(largest + step / 2);
  inputs.insert(inputs.end(),
                {0, largest, std::nextafter(edge, 0.0F), edge, kInfinity, 1e-45F, 3e38F});
  const std::size_t half = inputs.size();
  for (std::size_t i = 0; i < half; ++i) inputs.push_back(-inputs[i]);
  std::vector<typename TestFixture::Code> codes;
  for (const float input : inputs) codes.push_back(TestFixture::Format::encode(input));

  const Json golden = this->golden();
  ASSERT_EQ(sha256_hex(std::as_bytes(std::span(inputs))), golden.at("encode_inputs_sha256"))
      << "the test no longer asks what the reference answered";
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(codes))), golden.at("encode_sha256"));
}

TYPED_TEST(Formats, EncodingADecodedCodeGivesItBack) {
  for (int code = 0; code < this->kCodes; ++code) {
    const float number = this->decode(code);
    const int again = TestFixture::Format::encode(number);
    if (std::isnan(number)) {
      EXPECT_TRUE(std::isnan(this->decode(again))) << "code " << code;
    } else {
      EXPECT_EQ(again, code);
    }
  }
}

TYPED_TEST(Formats, TiesGoToTheEvenCodeAndTheRestToTheNearest) {
  const std::vector<float> numbers = this->finite();
  for (int code = 0; code + 1 < static_cast<int>(numbers.size()); ++code) {
    const auto i = static_cast<std::size_t>(code);
    const auto tie = static_cast<float>((static_cast<double>(numbers[i]) + numbers[i + 1]) / 2);
    EXPECT_EQ(TestFixture::Format::encode(tie), code % 2 == 0 ? code : code + 1) << tie;
    EXPECT_EQ(TestFixture::Format::encode(std::nextafter(tie, -kInfinity)), code) << tie;
    EXPECT_EQ(TestFixture::Format::encode(std::nextafter(tie, kInfinity)), code + 1) << tie;
  }
}

TYPED_TEST(Formats, KeepsTheSignOfZeroAndOfNan) {
  EXPECT_TRUE(std::signbit(this->decode(TestFixture::Format::encode(-0.0F))));
  for (const float sign : {1.0F, -1.0F}) {
    const float nan = std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
    const float back = this->decode(TestFixture::Format::encode(nan));
    EXPECT_EQ(std::isnan(back), this->kCodes > 16);  // E2M1 has none
    EXPECT_EQ(std::signbit(back), std::signbit(nan));
  }
}

TEST(E4m3Format, SaturatesAt448) {
  for (const float large : {449.0F, 464.0F, 1e30F, kInfinity}) {
    EXPECT_EQ(E4m3::decode(E4m3::encode(large)), 448.0F);
    EXPECT_EQ(E4m3::decode(E4m3::encode(-large)), -448.0F);
  }
}

TEST(E2m1Format, SaturatesAt6AndHasNoNan) {
  for (const float large : {7.0F, 1e30F, kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(E2m1::decode(E2m1::encode(large)), 6.0F);
    EXPECT_EQ(E2m1::decode(E2m1::encode(-large)), -6.0F);
  }
}

TEST(IeeeFormats, OverflowToInfinityFromHalfAStepBeyondTheLargest) {
  EXPECT_EQ(Fp16::decode(Fp16::encode(65519.99F)), 65504.0F);
  EXPECT_EQ(Fp16::decode(Fp16::encode(65520.0F)), kInfinity);
  EXPECT_EQ(E5m2::decode(E5m2::encode(61439.99F)), 57344.0F);
  EXPECT_EQ(E5m2::decode(E5m2::encode(-61440.0F)), -kInfinity);
  EXPECT_EQ(Bf16::decode(Bf16::encode(std::numeric_limits<float>::max())), kInfinity);
}

}  // namespace
}  // namespace assay::numerics
