/// Codes and scales of small weights, worked out by hand.
#include "quant/narrow_weight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "numerics/e4m3.h"

namespace assay::quant {
namespace {

using graph::Precision;
using testing::ElementsAre;

std::vector<int> bytes_of(const graph::Constant& constant) {
  std::vector<int> bytes;
  for (const std::byte byte : constant.bytes) bytes.push_back(static_cast<int>(byte));
  return bytes;
}

std::vector<float> numbers_of(const std::optional<graph::Value>& value) {
  return graph::to_f32(*value->constant);
}

NarrowWeight narrow(const std::vector<float>& numbers, std::int64_t channels, Precision precision,
                    Granularity granularity, WeightObserver observer = WeightObserver::max) {
  const auto depth = static_cast<std::int64_t>(numbers.size()) / channels;
  return narrow_weight(numbers, {channels, depth}, precision, {granularity, observer}, "layer");
}

TEST(NarrowWeight, HalvesAreTheNearestNumbers) {
  const std::vector<float> numbers{1.0F, -0.5F, 1.0F + 0x1p-9F};
  const NarrowWeight fp16 = narrow(numbers, 1, Precision::fp16, Granularity::tensor);
  EXPECT_EQ(fp16.codes.dtype, DType::f16);
  EXPECT_FALSE(fp16.scale);
  EXPECT_THAT(bytes_of(fp16.codes), ElementsAre(0x00, 0x3C, 0x00, 0xB8, 0x02, 0x3C));
  const NarrowWeight bf16 = narrow(numbers, 1, Precision::bf16, Granularity::tensor);
  EXPECT_EQ(bf16.codes.dtype, DType::bf16);
  EXPECT_THAT(graph::to_f32(bf16.codes), ElementsAre(1.0F, -0.5F, 1.0F));
}

TEST(NarrowWeight, Int8HasAScaleAChannel) {
  // 1e-42 is so small that it is as good as 0.
  const NarrowWeight made = narrow({-2.54F, 1.2F, 0.009F, 0.031F, 0, 1e-42F, 0, 0}, 2,
                                   Precision::int8, Granularity::channel);
  EXPECT_EQ(made.codes.dtype, DType::i8);
  EXPECT_THAT(bytes_of(made.codes), ElementsAre(256 - 127, 60, 0, 2, 0, 0, 0, 0));
  EXPECT_EQ(made.scale->dims, graph::Dims{2});
  EXPECT_THAT(numbers_of(made.scale), ElementsAre(2.54F / 127, 1));
  EXPECT_FALSE(made.tensor_scale);
}

TEST(NarrowWeight, Fp8ScalesByTensorOrChannel) {
  const std::vector<float> numbers{448, 1, 17, -18, 0.5F, -0.25F, 0, 0.1875F};
  const NarrowWeight tensor = narrow(numbers, 2, Precision::fp8, Granularity::tensor);
  EXPECT_EQ(tensor.codes.dtype, DType::f8_e4m3);
  EXPECT_EQ(tensor.scale->dims, graph::Dims{1});
  EXPECT_THAT(numbers_of(tensor.scale), ElementsAre(1));
  // 17 lies between 16 and 18, nearer to neither: the even code is 16's.
  EXPECT_THAT(graph::to_f32(tensor.codes), ElementsAre(448, 1, 16, -18, 0.5F, -0.25F, 0, 0.1875F));
  const NarrowWeight channel = narrow(numbers, 2, Precision::fp8, Granularity::channel);
  EXPECT_THAT(numbers_of(channel.scale), ElementsAre(1, 0.5F / 448));
  // 0.1875 is 168 of the scale, between 160 and 176: the even code is 160's.
  EXPECT_THAT(graph::to_f32(channel.codes), ElementsAre(448, 1, 16, -18, 448, -224, 0, 160));
  const NarrowWeight zeros = narrow({0, 0}, 1, Precision::fp8, Granularity::tensor);
  EXPECT_THAT(numbers_of(zeros.scale), ElementsAre(1));
}

TEST(NarrowWeight, Nvfp4HasBlocksAlongKAndALastOneThatIsShort) {
  // Two channels of 18: a block of 16 and one of 2 each.
  std::vector<float> numbers(36, 0.0F);
  numbers[0] = 6 * 448;  // the largest number: block scale 448, tensor scale 1
  numbers[1] = -448;
  numbers[2] = 1.25F * 448;  // between 1 and 1.5: the even code is 1's
  numbers[16] = 6;           // block scale 1
  numbers[17] = 5;           // between 4 and 6: the even code is 4's
  numbers[18] = 0.001F;      // 0.001 / 6 is below E4M3's smallest number: all become 0
  numbers[34] = -3;          // block scale 0.5
  numbers[35] = 0.25F;
  const NarrowWeight made = narrow(numbers, 2, Precision::nvfp4, Granularity::block);
  EXPECT_EQ(made.codes.dtype, DType::f4);
  EXPECT_THAT(numbers_of(made.tensor_scale), ElementsAre(1));
  EXPECT_EQ(made.scale->dims, (graph::Dims{2, 2}));
  EXPECT_EQ(made.scale->constant->dtype, DType::f8_e4m3);
  EXPECT_THAT(numbers_of(made.scale), ElementsAre(448, 1, 0, 0.5F));
  std::vector<int> bytes(18, 0);
  bytes[0] = 0x7 | 0xA << 4;   // 6, -1
  bytes[1] = 0x2;              // 1, 0
  bytes[8] = 0x7 | 0x6 << 4;   // 6, 4
  bytes[17] = 0xF | 0x1 << 4;  // -6, 0.5
  EXPECT_EQ(bytes_of(made.codes), bytes);
}

TEST(NarrowWeight, Nvfp4PacksChannelsWithoutPadding) {
  const NarrowWeight made =
      narrow({6, 3, 1.5F, 6, 3, 1.5F}, 2, Precision::nvfp4, Granularity::block);
  EXPECT_THAT(bytes_of(made.codes), ElementsAre(0x57, 0x73, 0x35));
  EXPECT_THAT(numbers_of(made.scale), ElementsAre(448, 448));
}

/// The sum of squared errors of a weight as its format stores it.
double error_of(const std::vector<float>& numbers, std::int64_t channels, Precision precision,
                Granularity granularity, WeightObserver observer) {
  const NarrowWeight made = narrow(numbers, channels, precision, granularity, observer);
  const std::vector<float> scales = numbers_of(made.scale);
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float scale = scales[scales.size() == 1 ? 0 : i * scales.size() / numbers.size()];
    const auto byte = static_cast<std::uint8_t>(made.codes.bytes[i]);
    const float code = precision == Precision::int8
                           ? static_cast<float>(static_cast<std::int8_t>(byte))
                           : numerics::E4m3::decode(byte);
    sum += std::pow(numbers[i] - scale * code, 2);
  }
  return sum;
}

TEST(NarrowWeight, TheSearchFindsLessError) {
  std::vector<float> numbers(8192);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::sin(static_cast<float>(i * i)) * 0.1F;
  }
  numbers[7] = 0.11F;  // above all others: clipping it a little is worth the finer steps
  for (const auto& [precision, granularity] : {std::pair(Precision::int8, Granularity::channel),
                                               std::pair(Precision::fp8, Granularity::channel),
                                               std::pair(Precision::fp8, Granularity::tensor)}) {
    const double max = error_of(numbers, 2, precision, granularity, WeightObserver::max);
    const double mse = error_of(numbers, 2, precision, granularity, WeightObserver::mse);
    EXPECT_LT(mse, max) << graph::name(precision);
  }
}

TEST(NarrowWeight, TheSearchMovesABlocksScaleWhereThatHelps) {
  // With scale 1, 5 becomes 4 six times; with 1.25 it is 4 × 1.25, and 6 is 6 × 1.
  std::vector<float> numbers(32, 5);
  numbers[0] = 6;
  numbers[16] = 6 * 448;
  const NarrowWeight max = narrow(numbers, 1, Precision::nvfp4, Granularity::block);
  EXPECT_THAT(numbers_of(max.scale), ElementsAre(1, 448));
  const NarrowWeight mse =
      narrow(numbers, 1, Precision::nvfp4, Granularity::block, WeightObserver::mse);
  EXPECT_EQ(numbers_of(mse.scale)[0], 1.25F);
}

}  // namespace
}  // namespace assay::quant
