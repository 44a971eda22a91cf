#include "numerics/dtype.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "assay/error.h"

namespace assay {
namespace {

/// `numbers` as bytes that start at an odd address.
template <typename Stored>
struct Unaligned {
  explicit Unaligned(const std::vector<Stored>& numbers) : storage(1) {
    const auto bytes = std::as_bytes(std::span(numbers));
    storage.insert(storage.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(storage).subspan(1); }
  std::vector<std::byte> storage;
};

template <typename Stored>
std::vector<float> converted(DType dtype, const std::vector<Stored>& numbers) {
  const Unaligned<Stored> unaligned(numbers);
  std::vector<float> out(numbers.size());
  convert_to_f32(dtype, unaligned.bytes(), out);
  return out;
}

constexpr DType kAll[] = {DType::boolean,     DType::u8,         DType::i8,      DType::u16,
                          DType::i16,         DType::u32,        DType::i32,     DType::u64,
                          DType::i64,         DType::f16,        DType::bf16,    DType::f32,
                          DType::f64,         DType::c64,        DType::f8_e4m3, DType::f8_e5m2,
                          DType::f8_e8m0,     DType::f6_e2m3,    DType::f6_e3m2, DType::f4,
                          DType::f8_e4m3fnuz, DType::f8_e5m2fnuz};

TEST(DTypeNames, EveryOneIsFoundByItsName) {
  for (const DType dtype : kAll) EXPECT_EQ(dtype_from_name(name(dtype)), dtype) << name(dtype);
  EXPECT_EQ(dtype_from_name("f32"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_EQ(name(DType::f8_e4m3), "F8_E4M3");
  EXPECT_EQ(name(DType::boolean), "BOOL");
}

TEST(DTypeSizes, InBits) {
  EXPECT_EQ(size_in_bits(DType::boolean), 8);
  EXPECT_EQ(size_in_bits(DType::c64), 64);
  EXPECT_EQ(size_in_bits(DType::f16), 16);
  EXPECT_EQ(size_in_bits(DType::f6_e2m3), 6);
  EXPECT_EQ(size_in_bits(DType::f4), 4);
}

TEST(ConvertToF32, EveryFloatingType) {
  EXPECT_EQ(converted<float>(DType::f32, {1.5F, -2.0F}), (std::vector<float>{1.5F, -2.0F}));
  EXPECT_EQ(converted<double>(DType::f64, {0.1, -1e300}),
            (std::vector<float>{0.1F, -std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(converted<std::uint16_t>(DType::f16, {0x3C00, 0xC100, 0x0001}),
            (std::vector<float>{1.0F, -2.5F, 0x1p-24F}));
  EXPECT_EQ(converted<std::uint16_t>(DType::bf16, {0x3F80, 0xC020}),
            (std::vector<float>{1.0F, -2.5F}));
  EXPECT_EQ(converted<std::uint8_t>(DType::f8_e4m3, {0x38, 0x7E, 0x01}),
            (std::vector<float>{1.0F, 448.0F, 0x1p-9F}));
  EXPECT_EQ(converted<std::uint8_t>(DType::f8_e5m2, {0x3C, 0x7B, 0x01}),
            (std::vector<float>{1.0F, 57344.0F, 0x1p-16F}));
}

TEST(ConvertToF32, NoNumbersAtAll) {
  EXPECT_NO_THROW(convert_to_f32(DType::f32, {}, {}));
  EXPECT_NO_THROW(convert_to_f32(DType::f16, {}, {}));
}

TEST(ConvertToF32, RefusesBytesThatAreNotTheNumbersAskedFor) {
  const std::vector<std::byte> bytes(7);
  std::vector<float> out(3);
  EXPECT_THROW(convert_to_f32(DType::f16, bytes, out), Error);
  EXPECT_THROW(convert_to_f32(DType::f32, std::span(bytes).first(4), out), Error);
  EXPECT_NO_THROW(convert_to_f32(DType::f16, std::span(bytes).first(6), out));
}

TEST(ConvertToF32, RefusesTypesThatAreNoFloats) {
  const std::vector<std::byte> bytes(4);
  std::vector<float> out(4);
  for (const DType dtype : {DType::boolean, DType::i8, DType::f8_e8m0, DType::f4, DType::c64}) {
    try {
      convert_to_f32(dtype, bytes, out);
      FAIL() << name(dtype);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_NE(std::string(error.what()).find(name(dtype)), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace assay
