// Narrow products on each instruction set against double arithmetic.
#include "backend/narrow_product.h"

#include <array>

#include "assay/error.h"

namespace assay::backend::cpu {
namespace {

using NarrowProduct = NarrowTest;
INSTANTIATE_TEST_SUITE_P(Isa, NarrowProduct, testing::ValuesIn(built_isas()), isa_name);

constexpr std::array kPrecisions{Precision::bf16, Precision::int8};
constexpr std::array kActivations{Activation::none, Activation::gelu, Activation::silu};

/// Odd sizes around those of tiles, panels and vectors.
std::vector<Shape> shapes() {
  return {{1, 1, 1, 1, 1},     {1, 3, 1, 2, 15},    {1, 16, 1, 32, 16},  {1, 17, 1, 33, 17},
          {2, 15, 1, 64, 31},  {1, 32, 1, 65, 32},  {3, 11, 3, 9, 33},   {1, 33, 1, 96, 48},
          {2, 32, 3, 24, 49},  {1, 47, 1, 127, 64}, {1, 64, 2, 64, 65},  {1, 48, 1, 144, 80},
          {7, 10, 1, 300, 97}, {1, 70, 5, 60, 100}, {10, 5, 3, 72, 100}, {1, 1, 1, 256, 96}};
}

/// Strided rows of results between marks that must stay.
struct Result {
  explicit Result(const Shape& of)
      : shape(of),
        row(of.n + 2),
        line(row * of.rows + 3),
        numbers(random_floats(line * of.lines, 99)),
        before(numbers) {}

  NarrowTarget target(Activation activation, bool residual) {
    NarrowTarget target;
    target.f32 = numbers.data();
    target.rows = shape.rows;
    target.line = line;
    target.row = row;
    target.activation = activation;
    if (residual) {
      target.residual = numbers.data();
      target.residual_line = line;
      target.residual_row = row;
    }
    return target;
  }
  [[nodiscard]] std::size_t at(std::int64_t r, std::int64_t n) const {
    return static_cast<std::size_t>(r / shape.rows * line + r % shape.rows * row + n);
  }
  /// Whether nothing but the results was written.
  [[nodiscard]] bool intact() const {
    std::vector<bool> written(numbers.size());
    for (std::int64_t r = 0; r < shape.all_rows(); ++r) {
      for (std::int64_t n = 0; n < shape.n; ++n) written[at(r, n)] = true;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!written[i] && numbers[i] != before[i]) return false;
    }
    return true;
  }

  Shape shape;
  std::int64_t row;
  std::int64_t line;
  std::vector<float> numbers;
  std::vector<float> before;
};

std::string text(const Shape& s) {
  return std::to_string(s.lines) + "x" + std::to_string(s.rows) + " rows, k " +
         std::to_string(s.segments) + "x" + std::to_string(s.segment_length) + ", n " +
         std::to_string(s.n);
}

void expect_right(Precision precision, const Shape& shape, Activation activation, bool residual) {
  SCOPED_TRACE(text(shape));
  const TestedProduct product(precision, shape, 5);
  Bytes rows = product.packed(0, shape.all_rows());
  Result result(shape);
  multiply_rows(product.matrix(), rows.data(), 0, shape.all_rows(), 0,
                panel_count(product.matrix()), result.target(activation, residual));
  for (std::int64_t r = 0; r < shape.all_rows(); ++r) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const TestedProduct::Right right = product.right(r, n, activation);
      const auto before = static_cast<double>(residual ? result.before[result.at(r, n)] : 0.0F);
      ASSERT_NEAR(result.numbers[result.at(r, n)], right.value + before, right.tolerance)
          << "row " << r << ", column " << n;
    }
  }
  EXPECT_TRUE(result.intact());
}

TEST_P(NarrowProduct, IsRightForOddShapes) {
  for (const Precision precision : kPrecisions) {
    for (const Shape& shape : shapes()) expect_right(precision, shape, Activation::none, false);
  }
}

TEST_P(NarrowProduct, ActivatesThenAddsTheResidualInPlace) {
  for (const Precision precision : kPrecisions) {
    for (const Activation activation : kActivations) {
      expect_right(precision, {2, 19, 3, 24, 49}, activation, true);
      expect_right(precision, {1, 33, 1, 96, 32}, activation, false);
    }
  }
}

TEST_P(NarrowProduct, PackedRowsAreTheOperandsAndZeros) {
  for (const Precision precision : kPrecisions) {
    for (const Shape& shape : shapes()) {
      const TestedProduct product(precision, shape, 6);
      const NarrowMatrix& b = product.matrix();
      const std::int64_t begin = shape.all_rows() / 3;
      Bytes rows = product.packed(begin, shape.all_rows());
      for (std::int64_t r = begin; r < shape.all_rows(); ++r) {
        const std::byte* const row = rows.data() + (r - begin) * b.row_bytes();
        for (std::int64_t k = 0; k < b.k_padded; ++k) {
          const float x = k < b.k ? product.input(r, k) : 0;
          if (precision == Precision::bf16) {
            const auto code = reinterpret_cast<const std::uint16_t*>(row)[k];
            ASSERT_EQ(code, numerics::Bf16::encode(x)) << text(shape);
          } else if (k < b.k) {
            ASSERT_EQ(static_cast<int>(row[k]), b.input.encode(x)) << text(shape);
          }
        }
      }
    }
  }
}

TEST_P(NarrowProduct, QuantizationSaturatesAndNanBecomesZero) {
  TestedProduct product(Precision::int8, {1, 1, 1, 40, 16}, 7);
  std::fill(product.a().begin(), product.a().end(), 0.5F);
  const std::array<float, 8> odd{1e30F, -1e30F, kInfinity, -kInfinity, kNan, 0.0F, 1.8F, -1.6F};
  std::copy(odd.begin(), odd.end(), product.a().begin());
  std::copy(odd.begin(), odd.end(), product.a().begin() + 32);  // in the last, partial vector
  Bytes rows = product.packed(0, 1);
  for (std::int64_t k = 0; k < 40; ++k) {
    ASSERT_EQ(static_cast<int>(rows.data()[k]), product.matrix().input.encode(product.input(0, k)));
  }
}

TEST_P(NarrowProduct, NormalizesRowsAsItPacksThem) {
  for (const std::int64_t k : {1, 5, 16, 60, 144, 513, 1100}) {
    const Shape shape{2, 3, 1, k, 16};
    const TestedProduct product(Precision::bf16, shape, 8);
    const std::vector<float> weight = random_floats(k, 9);
    const std::vector<float> bias = random_floats(k, 10);
    NarrowSource source = product.source();
    source.norm = {weight.data(), bias.data(), 1e-3F};
    const NarrowMatrix& b = product.matrix();
    Bytes rows(shape.all_rows() * b.row_bytes(), 0xFF);
    pack_rows(b, source, 0, shape.all_rows(), rows.data());
    for (std::int64_t r = 0; r < shape.all_rows(); ++r) {
      double mean = 0;
      double variance = 0;
      const auto count = static_cast<double>(k);
      for (std::int64_t i = 0; i < k; ++i) mean += static_cast<double>(product.input(r, i)) / count;
      for (std::int64_t i = 0; i < k; ++i) {
        variance += std::pow(static_cast<double>(product.input(r, i)) - mean, 2) / count;
      }
      for (std::int64_t i = 0; i < b.k_padded; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto* const codes =
            reinterpret_cast<const std::uint16_t*>(rows.data() + r * b.row_bytes());
        const auto y = static_cast<double>(numerics::Bf16::decode(codes[i]));
        if (i >= k) {
          ASSERT_EQ(y, 0) << "padding";
          continue;
        }
        const double right = (static_cast<double>(product.input(r, i)) - mean) /
                                 std::sqrt(variance + 1e-3) * static_cast<double>(weight[at]) +
                             static_cast<double>(bias[at]);
        ASSERT_NEAR(y, right, std::fabs(right) / 256 + 1e-5) << "k " << k << ", at " << i;
      }
    }
  }
}

/// A product whose numbers go into the operands of a second one.
void expect_packed(Precision precision, Precision next_precision, const Shape& shape) {
  SCOPED_TRACE(text(shape));
  const TestedProduct product(precision, shape, 11);
  const TestedProduct next(next_precision, {1, 1, 1, shape.n, 16}, 12);
  Bytes rows = product.packed(0, shape.all_rows());
  Bytes out(padded_rows(shape.all_rows()) * next.matrix().row_bytes(), 0xFF);
  NarrowTarget target;
  target.packed = out.data();
  target.next = &next.matrix();
  target.activation = Activation::silu;
  multiply_rows(product.matrix(), rows.data(), 0, shape.all_rows(), 0,
                panel_count(product.matrix()), target);
  for (std::int64_t r = 0; r < shape.all_rows(); ++r) {
    const std::byte* const row = out.data() + r * next.matrix().row_bytes();
    for (std::int64_t n = 0; n < next.matrix().k_padded; ++n) {
      const bool bf16 = next_precision == Precision::bf16;
      const auto code = bf16 ? reinterpret_cast<const std::uint16_t*>(row)[n]
                             : static_cast<std::uint16_t>(row[n]);
      if (n >= shape.n) {
        ASSERT_EQ(code, 0) << "padding";
        continue;
      }
      const TestedProduct::Right right = product.right(r, n, Activation::silu);
      if (bf16) {
        ASSERT_NEAR(numerics::Bf16::decode(code), right.value,
                    right.tolerance + std::fabs(right.value) / 256);
        continue;
      }
      const numerics::AffineU8& format = next.matrix().input;
      const double low = format.decode(0);
      const double high = format.decode(255);
      ASSERT_NEAR(format.decode(static_cast<std::uint8_t>(code)),
                  std::min(high, std::max(low, right.value)),
                  right.tolerance + 0.501 * static_cast<double>(format.scale));
    }
  }
  for (std::int64_t i = shape.all_rows() * next.matrix().row_bytes();
       i < padded_rows(shape.all_rows()) * next.matrix().row_bytes(); ++i) {
    ASSERT_EQ(out.data()[i], std::byte{0xFF}) << "written past the last row";
  }
}

TEST_P(NarrowProduct, WritesTheOperandsOfTheNextProduct) {
  for (const Precision precision : kPrecisions) {
    for (const Precision next : kPrecisions) {
      for (const Shape& shape : shapes()) expect_packed(precision, next, shape);
    }
  }
}

/// The same product in pieces: of panels, and of rows from odd places on.
TEST_P(NarrowProduct, IsTheSameBitsHoweverItIsShared) {
  for (const Precision precision : kPrecisions) {
    const Shape shape{2, 37, 1, 160, 176};
    const TestedProduct product(precision, shape, 13);
    const NarrowMatrix& b = product.matrix();
    const std::int64_t all = shape.all_rows();
    Bytes rows = product.packed(0, all);
    Result whole(shape);
    multiply_rows(b, rows.data(), 0, all, 0, panel_count(b), whole.target(Activation::silu, true));
    Result pieces(shape);
    const std::array<std::int64_t, 6> cuts{0, 1, 6, 23, 60, all};
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      Bytes some = product.packed(cuts[i], cuts[i + 1]);
      for (const auto& [begin, end] : {std::pair{0, 1}, {1, 4}, {4, 6}}) {
        multiply_rows(b, some.data(), cuts[i], cuts[i + 1], begin, end,
                      pieces.target(Activation::silu, true));
      }
    }
    EXPECT_EQ(whole.numbers, pieces.numbers);
  }
}

TEST_P(NarrowProduct, IntegerSumsAreExact) {
  for (const std::int64_t k : {1, 3, 64, 77, 300}) {
    for (const int sign : {-1, 1}) {
      constexpr std::int64_t kColumns = 37;
      constexpr std::int64_t kRows = 35;
      // Two kinds of columns: extreme ones, and all codes in turn.
      std::vector<std::int8_t> weight(static_cast<std::size_t>(kColumns * k));
      for (std::int64_t i = 0; i < kColumns * k; ++i) {
        const bool extreme = i / k % 2 == 0;
        weight[static_cast<std::size_t>(i)] =
            static_cast<std::int8_t>(extreme ? sign * 127 : (i * 7) % 255 - 127);
      }
      ConstantPool pool;
      const std::vector<float> ones(kColumns, 1.0F);
      const NarrowMatrix b = pack_int8(weight, ones, {}, kColumns, k, {1.0F, 0}, pool);
      Bytes rows(padded_rows(kRows) * b.row_bytes());
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t i = 0; i < k; ++i) {
          rows.data()[r * b.row_bytes() + i] = static_cast<std::byte>(r == 0 ? 255 : (r * i) % 256);
        }
      }
      std::vector<float> c(static_cast<std::size_t>(kRows * kColumns));
      NarrowTarget target;
      target.f32 = c.data();
      target.rows = kRows;
      target.row = kColumns;
      multiply_rows(b, rows.data(), 0, kRows, 0, panel_count(b), target);
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t n = 0; n < kColumns; ++n) {
          std::int32_t sum = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            sum += static_cast<int>(rows.data()[r * b.row_bytes() + i]) *
                   weight[static_cast<std::size_t>(n * k + i)];
          }
          // Below 2^24, so that fp32 holds it.
          ASSERT_EQ(c[static_cast<std::size_t>(r * kColumns + n)], static_cast<float>(sum));
        }
      }
    }
  }
}

/// Sums of exactly these numbers, activated.
std::vector<float> activate_all(Activation activation, const std::vector<float>& x) {
  ConstantPool pool;
  const auto n = static_cast<std::int64_t>(x.size());
  const std::vector<float> weight(x.size(), 0.0F);
  const NarrowMatrix b = pack_bf16(weight, x, n, 1, pool);
  Bytes rows(padded_rows(1) * b.row_bytes());
  std::vector<float> y(x.size());
  NarrowTarget target;
  target.f32 = y.data();
  target.rows = 1;
  target.row = n;
  target.activation = activation;
  multiply_rows(b, rows.data(), 0, 1, 0, panel_count(b), target);
  return y;
}

TEST_P(NarrowProduct, ActivationsAreFiniteForFiniteSumsAndKeepNan) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> x = {0, -0.0F, 1e30F, most, -1e30F, -most, -100, 100, kNan, 1e-40F};
  for (const Activation activation : {Activation::gelu, Activation::silu}) {
    const std::vector<float> y = activate_all(activation, x);
    EXPECT_EQ(y[0], 0.0F);
    EXPECT_EQ(y[1], 0.0F);
    EXPECT_NEAR(y[2], 1e30F, 1e30F / 4096);
    EXPECT_NEAR(y[3], most, most / 4096);
    EXPECT_NEAR(y[4], 0.0F, 1e-30);
    EXPECT_NEAR(y[5], 0.0F, 1e-30);
    EXPECT_NEAR(y[6], 0.0F, 1e-30);
    EXPECT_NEAR(y[7], 100.0F, 100.0 / 4096);
    EXPECT_TRUE(std::isnan(y[8]));
    EXPECT_NEAR(y[9], 0.5e-40, 0.1e-40);
  }
}

TEST_P(NarrowProduct, ActivationsAreAccurateToTwelveBits) {
  std::vector<float> x;
  for (int i = -200000; i <= 200000; ++i) x.push_back(static_cast<float>(i) * 1e-4F);
  for (const Activation activation : {Activation::gelu, Activation::silu}) {
    const std::vector<float> y = activate_all(activation, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double right = activated(activation, static_cast<double>(x[i]));
      // Far out in its tail GELU is right absolutely, to less than a thousandth of bf16's step
      // at 1.
      const double absolute = activation == Activation::gelu ? 1e-6 : 1e-20;
      ASSERT_NEAR(y[i], right, std::fabs(right) / 4096 + absolute) << "at " << x[i];
    }
  }
}

TEST(NarrowPacking, RefusesSumsThatDoNotFit) {
  ConstantPool pool;
  const std::vector<std::int8_t> weight(70000);
  const std::vector<float> one(1, 1.0F);
  EXPECT_THROW(pack_int8(weight, one, {}, 1, 70000, {}, pool), Error);
}

TEST_P(NarrowProduct, NanAndInfinityComeThroughBf16) {
  TestedProduct product(Precision::bf16, {1, 2, 1, 40, 16}, 14);
  product.a()[3] = kNan;
  Bytes rows = product.packed(0, 2);
  Result result(product.shape());
  multiply_rows(product.matrix(), rows.data(), 0, 2, 0, 1, result.target(Activation::silu, false));
  for (std::int64_t n = 0; n < 16; ++n) {
    EXPECT_TRUE(std::isnan(result.numbers[result.at(0, n)]));
    EXPECT_TRUE(std::isfinite(result.numbers[result.at(1, n)]));
  }
}

}  // namespace
}  // namespace assay::backend::cpu
