/// Rounding to narrow formats in vectors, against the number formats themselves.
#include <bit>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels/fake_quantize.h"
#include "backend/kernels_support.h"
#include "numerics/bf16.h"
#include "numerics/e4m3.h"
#include "numerics/fp16.h"
#include "numerics/int8.h"

namespace assay::backend::cpu {
namespace {

using graph::FakeQuantize;
using graph::NumberFormat;
using FakeQuantizeKernel = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, FakeQuantizeKernel, testing::ValuesIn(supported_isas()), isa_name);

template <typename Format>
float through(float number) {
  return Format::decode(Format::encode(number));
}

/// As graph::FakeQuantize says it, one number at a time.
float rounded(const FakeQuantize& op, float x) {
  const auto scale = static_cast<float>(op.scale);
  switch (op.format) {
    case NumberFormat::fp16:
      return through<numerics::Fp16>(x);
    case NumberFormat::bf16:
      return through<numerics::Bf16>(x);
    case NumberFormat::e4m3:
      return scale * through<numerics::E4m3>(x * (1.0F / scale));
    case NumberFormat::affine_u8:
      break;
  }
  const numerics::AffineU8 affine{scale, static_cast<std::uint8_t>(op.zero_point)};
  return affine.decode(affine.encode(x));
}

const std::vector<FakeQuantize>& operators() {
  static const std::vector<FakeQuantize> all{
      {NumberFormat::fp16, 1.0, 0},
      {NumberFormat::bf16, 1.0, 0},
      {NumberFormat::e4m3, 1.0, 0},
      {NumberFormat::e4m3, static_cast<double>(0.017F), 0},
      {NumberFormat::e4m3, static_cast<double>(3e20F), 0},
      {NumberFormat::e4m3, static_cast<double>(1e-30F), 0},
      {NumberFormat::affine_u8, 1.0, 0},
      {NumberFormat::affine_u8, static_cast<double>(0.031F), 77},
      {NumberFormat::affine_u8, static_cast<double>(1e-12F), 255},
      {NumberFormat::affine_u8, static_cast<double>(1e12F), 128}};
  return all;
}

/// The same bits, but that zeros may differ in their sign and one NaN is as good as another.
bool same(float got, float wanted) {
  return got == wanted || (std::isnan(got) && std::isnan(wanted));
}

void expect_rounded(const FakeQuantize& op, const std::vector<float>& x) {
  Guarded y(static_cast<std::int64_t>(x.size()));
  fake_quantize(op, x.data(), y.data(), y.size());
  EXPECT_TRUE(y.intact());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float wanted = rounded(op, x[i]);
    ASSERT_TRUE(same(y[static_cast<std::int64_t>(i)], wanted))
        << "format " << static_cast<int>(op.format) << " scale " << op.scale << ": " << x[i]
        << " becomes " << y[static_cast<std::int64_t>(i)] << ", not " << wanted;
  }
}

/// Every sign, exponent and upper mantissa that fp32 has, infinities and NaN among them, with lower
/// bits that put the number on a tie of a format with fewer, and just below and above it.
TEST_P(FakeQuantizeKernel, RoundsEveryExponentAsTheFormatDoes) {
  std::vector<float> numbers;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      numbers.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  for (const FakeQuantize& op : operators()) expect_rounded(op, numbers);
}

/// Numbers that are ties once they are scaled, and their neighbours.
TEST_P(FakeQuantizeKernel, RoundsEveryTieAsTheFormatDoes) {
  for (const FakeQuantize& op : operators()) {
    std::vector<float> codes;  // the numbers that codes stand for
    for (int code = 0; code < 256; ++code) {
      codes.push_back(op.format == NumberFormat::affine_u8
                          ? static_cast<float>(code - op.zero_point)
                          : numerics::E4m3::decode(static_cast<numerics::E4m3::Code>(code)));
    }
    std::vector<float> numbers;
    for (std::size_t i = 0; i + 1 < codes.size(); ++i) {
      const double tie = (static_cast<double>(codes[i]) + codes[i + 1]) / 2;
      const auto x = static_cast<float>(tie * op.scale);
      numbers.insert(numbers.end(),
                     {x, std::nextafter(x, -kInfinity), std::nextafter(x, kInfinity)});
    }
    expect_rounded(op, numbers);
  }
}

TEST_P(FakeQuantizeKernel, TakesAnyCountAndWorksInPlace) {
  for (const FakeQuantize& op : operators()) {
    for (const std::int64_t count : {0, 1, 3, 15, 16, 17, 33, 100}) {
      const std::vector<float> x = random_floats(count, 9, -10, 10);
      expect_rounded(op, x);
      Guarded in_place(x);
      fake_quantize(op, in_place.data(), in_place.data(), count);
      EXPECT_TRUE(in_place.intact());
      for (std::int64_t i = 0; i < count; ++i) {
        EXPECT_TRUE(same(in_place[i], rounded(op, x[static_cast<std::size_t>(i)])));
      }
    }
  }
}

}  // namespace
}  // namespace assay::backend::cpu
