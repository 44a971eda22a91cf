#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/gemm.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;

std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = uniform(generator);
  return numbers;
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Activation::silu:
      return x / (1.0 + std::exp(-x));
    case Activation::none:
      break;
  }
  return x;
}

/// One product with everything that the arguments can say, and its answer in double.
struct Problem {
  std::int64_t lines = 1, rows = 1, n = 1, segments = 1, segment_length = 1;
  Activation activation = Activation::none;
  bool bias = true, residual = false;

  [[nodiscard]] std::int64_t k() const { return segments * segment_length; }
};

class GemmRun {
 public:
  explicit GemmRun(const Problem& problem) : p_(problem) {
    // Strides with gaps, so that a kernel that ignores one of them is found out.
    a_row_ = p_.segment_length + 3;
    const std::int64_t segment_stride = p_.rows * a_row_ + 5;
    a_line_ = p_.segments * segment_stride + 7;
    for (std::int64_t s = 0; s < p_.segments; ++s) offsets_.push_back(s * segment_stride + 1);
    c_row_ = p_.n + 2;
    c_line_ = p_.rows * c_row_ + 4;
    a_ = random_floats(static_cast<std::size_t>(p_.lines * a_line_ + 1), 1);
    weight_ = random_floats(static_cast<std::size_t>(p_.n * p_.k()), 2);
    bias_ = random_floats(p_.bias ? static_cast<std::size_t>(p_.n) : 0, 3);
    residual_ = random_floats(static_cast<std::size_t>(p_.lines * c_line_), 4);
    packed_ = pack_matrix(weight_, bias_, p_.n, p_.k(), pool_);
  }

  [[nodiscard]] std::vector<float> run(int workers) const {
    std::vector<float> c(residual_.size(), kUntouched);
    GemmArgs args;
    args.lines = p_.lines;
    args.rows = p_.rows;
    args.a = a_.data();
    args.a_line = a_line_;
    args.a_row = a_row_;
    args.segment_offsets = offsets_;
    args.segment_length = p_.segment_length;
    args.c = c.data();
    args.c_line = c_line_;
    args.c_row = c_row_;
    if (p_.residual) {
      args.residual = residual_.data();
      args.residual_line = c_line_;
      args.residual_row = c_row_;
    }
    args.activation = p_.activation;
    for (int w = 0; w < workers; ++w) gemm(packed_, args, gemm_share(packed_, args, w, workers));
    return c;
  }

  void check(std::span<const float> c) const {
    constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
    for (std::int64_t line = 0; line < p_.lines; ++line) {
      for (std::int64_t row = 0; row < p_.rows; ++row) {
        for (std::int64_t j = 0; j < c_row_; ++j) {
          const std::int64_t at = line * c_line_ + row * c_row_ + j;
          const float got = c[static_cast<std::size_t>(at)];
          if (j >= p_.n) {
            ASSERT_EQ(got, kUntouched) << "wrote past the row's end";
            continue;
          }
          double sum = p_.bias ? bias_[static_cast<std::size_t>(j)] : 0.0;
          double magnitude = std::abs(sum);
          for (std::int64_t s = 0; s < p_.segments; ++s) {
            for (std::int64_t i = 0; i < p_.segment_length; ++i) {
              const double product =
                  double{a_[static_cast<std::size_t>(line * a_line_ + row * a_row_ +
                                                     offsets_[static_cast<std::size_t>(s)] + i)]} *
                  weight_[static_cast<std::size_t>(j * p_.k() + s * p_.segment_length + i)];
              sum += product;
              magnitude += std::abs(product);
            }
          }
          double want = activated(p_.activation, sum);
          if (p_.residual) want += residual_[static_cast<std::size_t>(at)];
          // K products summed in fp32 err by at most (K + 1) epsilon / 2 of the sum of their
          // magnitudes (Higham, "Accuracy and Stability", section 3.1), twice that where a product
          // is rounded too. Activations have a slope below 1.2 and add a few ulp of their own.
          const double tolerance =
              kEpsilon * (1.2 * static_cast<double>(p_.k() + 2) * magnitude + 4 * std::abs(want));
          ASSERT_NEAR(got, want, tolerance) << "line " << line << " row " << row << " column " << j;
        }
      }
    }
  }

 private:
  static constexpr float kUntouched = -12345.0F;
  Problem p_;
  std::int64_t a_row_ = 0, a_line_ = 0, c_row_ = 0, c_line_ = 0;
  std::vector<std::int64_t> offsets_;
  std::vector<float> a_, weight_, bias_, residual_;
  ConstantPool pool_;
  PackedMatrix packed_;
};

class CpuGemm : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { use_isa(GetParam()); }
  void TearDown() override { use_isa(supported_isas().front()); }
};

TEST_P(CpuGemm, EveryWidthAndHeightOfTile) {
  for (std::int64_t n = 1; n <= 130; n += n < 70 ? 1 : 7) {
    for (const std::int64_t rows : {1, 2, 5, 9, 13, 29}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << n);
      const GemmRun run({.rows = rows, .n = n, .segment_length = 5});
      run.check(run.run(1));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CpuGemm, LinesSegmentsActivationsAndResiduals) {
  for (const Activation activation : {Activation::none, Activation::gelu, Activation::silu}) {
    for (const bool residual : {false, true}) {
      for (const bool bias : {false, true}) {
        const GemmRun run({.lines = 3,
                           .rows = 17,
                           .n = 43,
                           .segments = 3,
                           .segment_length = 21,
                           .activation = activation,
                           .bias = bias,
                           .residual = residual});
        run.check(run.run(1));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CpuGemm, LargeK) {
  const GemmRun run({.rows = 7, .n = 33, .segments = 3, .segment_length = 700});
  run.check(run.run(1));
}

TEST_P(CpuGemm, SameBitsHoweverShared) {
  for (const std::int64_t rows : {1, 3, 64}) {
    for (const std::int64_t n : {10, 144, 320}) {
      const GemmRun run({.lines = 2,
                         .rows = rows,
                         .n = n,
                         .segment_length = 30,
                         .activation = Activation::silu,
                         .residual = true});
      const std::vector<float> alone = run.run(1);
      for (int workers = 2; workers <= 8; ++workers) {
        const std::vector<float> shared = run.run(workers);
        ASSERT_EQ(std::memcmp(alone.data(), shared.data(), alone.size() * sizeof(float)), 0)
            << workers << " workers";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuGemm, testing::ValuesIn(supported_isas()),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace assay::backend::cpu
