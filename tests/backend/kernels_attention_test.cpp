#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "backend/cpu/kernels/attention.h"
#include "backend/kernels_support.h"

namespace assay::backend::cpu {
namespace {

using AttentionKernel = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionKernel, testing::ValuesIn(supported_isas()), isa_name);

struct Shape {
  std::int64_t batch, queries, keys;
  int heads, head_dim;
};

/// Head sizes of the families and odd ones; keys of CrossViT (401, 197) and MobileViT (256, 64, 16)
/// and odd ones; one query, a few, and enough for every width of block.
const std::vector<Shape> kShapes = {
    {1, 1, 401, 4, 32}, {2, 1, 197, 2, 64}, {1, 3, 5, 2, 7},      {1, 4, 9, 1, 30},
    {1, 17, 33, 2, 36}, {4, 16, 16, 4, 60}, {2, 64, 64, 2, 36},   {1, 53, 31, 3, 30},
    {1, 97, 1, 1, 16},  {1, 33, 401, 2, 1}, {1, 49, 1024, 1, 64}, {1, 20, 19, 1, 130},
    {1, 1, 37, 2, 149},
};

/// q, k and v of one fused projection, in place, and an output with gaps.
class Problem {
 public:
  explicit Problem(const Shape& shape)
      : shape_(shape),
        width_(shape.heads * std::int64_t{shape.head_dim}),
        q_(random_floats(shape.batch * shape.queries * (width_ + 1), 1, -2, 2)),
        kv_(random_floats(shape.batch * shape.keys * 2 * width_, 2, -2, 2)),
        out_(shape.batch * shape.queries * (width_ + 3)) {
    args_.q = q_.data();
    args_.k = kv_.data();
    args_.v = kv_.data() + width_;
    args_.out = out_.data();
    args_.q_stride = width_ + 1;
    args_.k_stride = args_.v_stride = 2 * width_;
    args_.out_stride = width_ + 3;
    args_.q_batch_stride = shape.queries * args_.q_stride;
    args_.k_batch_stride = args_.v_batch_stride = shape.keys * args_.k_stride;
    args_.out_batch_stride = shape.queries * args_.out_stride;
    args_.batch = shape.batch;
    args_.queries = shape.queries;
    args_.keys = shape.keys;
    args_.heads = shape.heads;
    args_.head_dim = shape.head_dim;
    args_.scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
  }

  AttentionArgs& args() { return args_; }
  [[nodiscard]] const Guarded& out() const { return out_; }

  void run(std::int64_t begin, std::int64_t end) {
    Guarded scratch(attention_scratch_floats(args_));
    attention(args_, begin, end, scratch.data());
    EXPECT_TRUE(scratch.intact());
    EXPECT_TRUE(out_.intact());
  }
  void run() { run(0, attention_items(args_)); }

  /// Compares every output with attention in double, and checks that the gaps are untouched.
  void check() const {
    for (std::int64_t b = 0; b < shape_.batch; ++b) {
      for (std::int64_t i = 0; i < shape_.queries; ++i) {
        for (int head = 0; head < shape_.heads; ++head) check_query(b, i, head);
        const std::int64_t row = b * args_.out_batch_stride + i * args_.out_stride;
        for (std::int64_t c = width_; c < args_.out_stride; ++c) {
          ASSERT_TRUE(std::isnan(out_[row + c])) << "a gap was written";
        }
      }
    }
  }

 private:
  void check_query(std::int64_t b, std::int64_t i, int head) const {
    const std::int64_t offset = head * std::int64_t{shape_.head_dim};
    const float* const q = args_.q + b * args_.q_batch_stride + i * args_.q_stride + offset;
    const float* const k = args_.k + b * args_.k_batch_stride + offset;
    const float* const v = args_.v + b * args_.v_batch_stride + offset;
    std::vector<double> weights(static_cast<std::size_t>(shape_.keys));
    double most = 0;  // of the sums of the absolute products
    for (std::int64_t j = 0; j < shape_.keys; ++j) {
      double score = 0;
      double size = 0;
      for (int c = 0; c < shape_.head_dim; ++c) {
        const double product = static_cast<double>(q[c]) * k[j * args_.k_stride + c];
        score += product;
        size += std::fabs(product);
      }
      weights[static_cast<std::size_t>(j)] = score * args_.scale;
      most = std::max(most, size * args_.scale);
    }
    const double top = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - top);
    // A score of n products errs by at most (n + 3) roundings of its absolute sum; so do the two in
    // a difference, and that is the relative error of a weight, before and after the division. The
    // sums over the keys add at most one rounding a key, and exp and the rest a few.
    const double score_error = (shape_.head_dim + 3) * kEpsilon / 2 * most;
    const double relative =
        4 * score_error + (2 * static_cast<double>(shape_.keys) + 16) * kEpsilon / 2;
    for (int c = 0; c < shape_.head_dim; ++c) {
      double right = 0;
      double size = 0;
      for (std::int64_t j = 0; j < shape_.keys; ++j) {
        const double term = weights[static_cast<std::size_t>(j)] / sum * v[j * args_.v_stride + c];
        right += term;
        size += std::fabs(term);
      }
      const float got = out_[b * args_.out_batch_stride + i * args_.out_stride + offset + c];
      ASSERT_NEAR(got, right, relative * size)
          << "group " << b << " query " << i << " head " << head << " channel " << c;
    }
  }

  Shape shape_;
  std::int64_t width_;
  std::vector<float> q_;
  std::vector<float> kv_;
  Guarded out_;
  AttentionArgs args_;
};

TEST_P(AttentionKernel, AgreesWithDouble) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(testing::Message() << shape.queries << " queries, " << shape.keys << " keys, head "
                                    << shape.head_dim);
    Problem problem(shape);
    problem.run();
    problem.check();
  }
}

TEST_P(AttentionKernel, IsTheSameHoweverTheItemsAreSplit) {
  for (const Shape& shape : kShapes) {
    Problem whole(shape);
    whole.run();
    Problem parts(shape);
    const std::int64_t items = attention_items(parts.args());
    for (std::int64_t begin = 0; begin < items; begin += 3) {
      parts.run(begin, std::min(items, begin + 3));
    }
    const auto bytes = static_cast<std::size_t>(whole.out().size()) * sizeof(float);
    Guarded first = whole.out();
    Guarded second = parts.out();
    EXPECT_EQ(std::memcmp(first.data(), second.data(), bytes), 0);
  }
}

TEST_P(AttentionKernel, LargeScoresDoNotOverflow) {
  for (const std::int64_t queries : {1, 40}) {
    Problem problem({1, queries, 50, 2, 24});
    problem.args().scale = 100;  // Scores of hundreds, whose exponentials no float holds.
    problem.run();
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t c = 0; c < 48; ++c) {
        const float x = problem.out()[i * problem.args().out_stride + c];
        ASSERT_TRUE(std::fabs(x) <= 2.0001F) << x;  // A mean of values within [-2, 2].
      }
    }
  }
}

TEST_P(AttentionKernel, NanInOneQueryStaysInIt) {
  for (const std::int64_t queries : {std::int64_t{2}, std::int64_t{21}}) {
    Problem problem({1, queries, 35, 1, 18});
    const_cast<float*>(problem.args().q)[problem.args().q_stride + 5] = kNan;
    problem.run();
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t c = 0; c < 18; ++c) {
        EXPECT_EQ(std::isnan(problem.out()[i * problem.args().out_stride + c]), i == 1);
      }
    }
  }
}

TEST_P(AttentionKernel, AScoreOfInfinityGivesNanAsTheFormulaDoes) {
  for (const std::int64_t queries : {std::int64_t{1}, std::int64_t{19}}) {
    Problem problem({1, queries, 20, 1, 8});
    auto* const key = const_cast<float*>(problem.args().k) + 7 * problem.args().k_stride;
    key[0] = kInfinity;
    const_cast<float*>(problem.args().q)[0] = 1;
    problem.run();
    EXPECT_TRUE(std::isnan(problem.out()[0]));
  }
}

}  // namespace
}  // namespace assay::backend::cpu
