#pragma once
/// A narrow product over random numbers with its right answer, worked out in double from the
/// operands' definition alone.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "backend/cpu/aligned_buffer.h"
#include "backend/cpu/kernels/narrow.h"
#include "backend/kernels_support.h"
#include "numerics/bf16.h"

namespace assay::backend::cpu {

using graph::Activation;
using graph::Precision;

/// Bytes at an address that kernels may ask for.
class Bytes {
 public:
  explicit Bytes(std::int64_t count, int fill = 0)
      : buffer_(static_cast<std::size_t>(count / 4 + 16)) {
    std::memset(buffer_.data(), fill, buffer_.size() * sizeof(float));
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(buffer_.data()); }

 private:
  AlignedBuffer buffer_;
};

struct Shape {
  std::int64_t lines = 1;
  std::int64_t rows = 1;  ///< of a line
  std::int64_t segments = 1;
  std::int64_t segment_length = 1;
  std::int64_t n = 1;
  [[nodiscard]] std::int64_t k() const { return segments * segment_length; }
  [[nodiscard]] std::int64_t all_rows() const { return lines * rows; }
};

/// Runs each test on every instruction set that this build has; those that the machine lacks are
/// skipped by name.
class NarrowTest : public KernelTest {
 protected:
  void SetUp() override {
    const auto supported = supported_isas();
    if (std::find(supported.begin(), supported.end(), GetParam()) == supported.end()) {
      GTEST_SKIP() << "this machine does not support " << name(GetParam());
    }
    KernelTest::SetUp();
  }
  void TearDown() override {
    if (!IsSkipped()) KernelTest::TearDown();
  }
};

inline std::int64_t padded_rows(std::int64_t rows) { return (rows + 31) / 32 * 32; }

/// The operand that `x` becomes, as a number.
inline double operand(const NarrowMatrix& b, float x) {
  using numerics::Bf16;
  return b.precision == Precision::bf16 ? static_cast<double>(Bf16::decode(Bf16::encode(x)))
                                        : static_cast<double>(b.input.decode(b.input.encode(x)));
}

inline double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

class TestedProduct {
 public:
  TestedProduct(Precision precision, const Shape& shape, unsigned seed)
      : shape_(shape),
        a_row_(shape.segments * (shape.segment_length + 3)),
        a_line_(a_row_ * shape.rows + 5),
        a_(random_floats(a_line_ * shape.lines, seed, -2, 2)),
        weight_(random_floats(shape.n * shape.k(), seed + 1)),
        bias_(random_floats(shape.n, seed + 2)) {
    for (std::int64_t s = 0; s < shape.segments; ++s) {
      // Out of order: a segment may be anywhere.
      offsets_.push_back((shape.segments - 1 - s) * (shape.segment_length + 3));
    }
    if (precision == Precision::bf16) {
      matrix_ = pack_bf16(weight_, bias_, shape.n, shape.k(), pool_);
      for (float& w : weight_) w = static_cast<float>(operand(matrix_, w));
    } else {
      pack_as_int8(seed);
    }
  }

  [[nodiscard]] const NarrowMatrix& matrix() const { return matrix_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  std::vector<float>& a() { return a_; }

  [[nodiscard]] NarrowSource source() const {
    NarrowSource source;
    source.a = a_.data();
    source.rows = shape_.rows;
    source.a_line = a_line_;
    source.a_row = a_row_;
    source.segment_offsets = offsets_;
    source.segment_length = shape_.segment_length;
    return source;
  }

  /// Number k of row `row`, numbered line by line.
  [[nodiscard]] float input(std::int64_t row, std::int64_t k) const {
    const std::int64_t at = row / shape_.rows * a_line_ + row % shape_.rows * a_row_ +
                            offsets_[static_cast<std::size_t>(k / shape_.segment_length)] +
                            k % shape_.segment_length;
    return a_[static_cast<std::size_t>(at)];
  }

  /// The packed rows [begin, end), with room for whole blocks of rows that hold anything.
  [[nodiscard]] Bytes packed(std::int64_t begin, std::int64_t end) const {
    Bytes rows(padded_rows(end - begin) * matrix_.row_bytes(), 0xFF);
    pack_rows(matrix_, source(), begin, end, rows.data());
    return rows;
  }

  struct Right {
    double value = 0;
    double tolerance = 0;  ///< of fp32 arithmetic over operands that are right
  };
  [[nodiscard]] Right right(std::int64_t row, std::int64_t n, Activation activation) const {
    double sum = static_cast<double>(bias_[static_cast<std::size_t>(n)]);
    double size = std::fabs(sum);
    for (std::int64_t k = 0; k < shape_.k(); ++k) {
      const double x = operand(matrix_, input(row, k));
      const double w = static_cast<double>(weight_[static_cast<std::size_t>(n * shape_.k() + k)]);
      sum += x * w;
      size += std::fabs(x * w);
    }
    // Sums in another order; what the zero point adds is as large as the products themselves.
    const double tolerance = size * kEpsilon * 8 + 1e-6;
    if (activation == Activation::none) return {sum, tolerance};
    const double y = activated(activation, sum);
    return {y, 1.2 * tolerance + std::fabs(y) / 4096 + 1e-6};
  }

 private:
  void pack_as_int8(unsigned seed) {
    std::mt19937 generator(seed + 3);
    std::uniform_int_distribution<int> code(-127, 127);
    std::vector<std::int8_t> codes(weight_.size());
    const std::vector<float> scale = random_floats(shape_.n, seed + 4, 0.001F, 0.02F);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      codes[i] = static_cast<std::int8_t>(code(generator));
      weight_[i] = scale[i / static_cast<std::size_t>(shape_.k())] * static_cast<float>(codes[i]);
    }
    matrix_ = pack_int8(codes, scale, bias_, shape_.n, shape_.k(), {0.013F, 117}, pool_);
  }

  Shape shape_;
  std::int64_t a_row_;
  std::int64_t a_line_;
  std::vector<float> a_;
  std::vector<float> weight_;  ///< as the product uses it
  std::vector<float> bias_;
  std::vector<std::int64_t> offsets_;
  ConstantPool pool_;
  NarrowMatrix matrix_;
};

}  // namespace assay::backend::cpu
