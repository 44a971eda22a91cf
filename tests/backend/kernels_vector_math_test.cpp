// The functions of vector_math-inl.h and tile_activation-inl.h on each instruction set, against the
// C library's in double.
#include <cmath>
#include <cstdint>
#include <vector>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/kernels_vector_math_test.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/tile_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

struct ExpOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Exp(d, x);
  }
};
struct ExpNonPositiveOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return ExpNonPositive(d, x);
  }
};
struct Exp2NonPositiveOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Exp2NonPositive(d, x);
  }
};
struct GeluOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Gelu(d, x);
  }
};
struct SiluOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Silu(d, x);
  }
};

/// y[i] = f(x[i]) with each number in every lane, so that any count will do.
template <class F>
void apply(const float* x, float* y, std::int64_t count) {
  const hn::ScalableTag<float> d;
  for (std::int64_t i = 0; i < count; ++i) y[i] = hn::GetLane(F()(d, hn::Set(d, x[i])));
}
void exp_all(const float* x, float* y, std::int64_t count) { apply<ExpOf>(x, y, count); }
void exp_low(const float* x, float* y, std::int64_t count) { apply<ExpNonPositiveOf>(x, y, count); }
void exp2_low(const float* x, float* y, std::int64_t count) {
  apply<Exp2NonPositiveOf>(x, y, count);
}
void gelu_all(const float* x, float* y, std::int64_t count) { apply<GeluOf>(x, y, count); }
void silu_all(const float* x, float* y, std::int64_t count) { apply<SiluOf>(x, y, count); }

/// Each number in every lane of a group of vectors, the last of which answers.
void silu_in_groups(const float* x, float* y, std::int64_t count) {
  using Tag = hn::ScalableTag<float>;
  const Tag d;
  for (std::int64_t i = 0; i < count; ++i) {
    Abreast<Tag> group;
    group.each([&](int) HWY_ATTR { return hn::Set(d, x[i]); });
    silu_abreast(d, group);
    y[i] = hn::GetLane(group.lane[kAbreast - 1]);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/kernels_support.h"

namespace assay::backend::cpu {
namespace {

HWY_EXPORT(exp_all);
HWY_EXPORT(exp_low);
HWY_EXPORT(exp2_low);
HWY_EXPORT(gelu_all);
HWY_EXPORT(silu_all);
HWY_EXPORT(silu_in_groups);

using VectorMath = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, VectorMath, testing::ValuesIn(supported_isas()), isa_name);

std::vector<float> sweep(double low, double high) {
  std::vector<float> numbers;
  constexpr int kSteps = 100003;
  for (int i = 0; i <= kSteps; ++i) {
    numbers.push_back(static_cast<float>(low + (high - low) * i / kSteps));
  }
  return numbers;
}

template <class Run>
std::vector<float> run_on(const std::vector<float>& x, const Run& run) {
  std::vector<float> y(x.size());
  run(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  return y;
}

/// Results in normal range are within `ulps` of epsilon, relatively.
template <class Run, class Truth>
void expect_within(double low, double high, double ulps, const Run& run, const Truth& truth) {
  const std::vector<float> x = sweep(low, high);
  const std::vector<float> y = run_on(x, run);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double right = truth(static_cast<double>(x[i]));
    if (std::fabs(right) < std::numeric_limits<float>::min()) continue;
    ASSERT_NEAR(y[i], right, ulps * kEpsilon * std::fabs(right)) << "at " << x[i];
  }
}

// The limits below are those that the functions' comments promise.

TEST_P(VectorMath, ExpIsWithinTwoUlp) {
  const auto run = [](auto... a) { HWY_DYNAMIC_DISPATCH(exp_all)(a...); };
  expect_within(-87.3, 88.7, 2, run, [](double x) { return std::exp(x); });
}

TEST_P(VectorMath, ExpOfNonPositiveIsWithinTwoUlp) {
  const auto run = [](auto... a) { HWY_DYNAMIC_DISPATCH(exp_low)(a...); };
  expect_within(-87.3, 0, 2, run, [](double x) { return std::exp(x); });
}

TEST_P(VectorMath, Exp2OfNonPositiveIsWithinTwoUlp) {
  const auto run = [](auto... a) { HWY_DYNAMIC_DISPATCH(exp2_low)(a...); };
  expect_within(-126, 0, 2, run, [](double x) { return std::exp2(x); });
}

TEST_P(VectorMath, ExpReachesDenormalsAndInfinity) {
  const std::vector<float> y =
      run_on({-88, -100, -103, -200, 88.8F, 1000, -kInfinity, kInfinity, kNan}, [](auto... a) {
        HWY_DYNAMIC_DISPATCH(exp_all)(a...);
      });
  const float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_NEAR(y[0], std::exp(-88.0), smallest);
  EXPECT_NEAR(y[1], std::exp(-100.0), smallest);
  EXPECT_EQ(y[2], smallest);
  EXPECT_EQ(y[3], 0.0F);
  EXPECT_EQ(y[4], kInfinity);
  EXPECT_EQ(y[5], kInfinity);
  EXPECT_EQ(y[6], 0.0F);
  EXPECT_EQ(y[7], kInfinity);
  EXPECT_TRUE(std::isnan(y[8]));
}

TEST_P(VectorMath, ExpOfNonPositiveFlushesToZeroAndKeepsNan) {
  const std::vector<float> x = {0, -0.0F, -200, -kInfinity, kNan};
  for (const auto& y : {run_on(x,
                               [](auto... a) {
                                 HWY_DYNAMIC_DISPATCH(exp_low)
                                 (a...);
                               }),
                        run_on(x, [](auto... a) {
                          HWY_DYNAMIC_DISPATCH(exp2_low)
                          (a...);
                        })}) {
    EXPECT_EQ(y[0], 1.0F);
    EXPECT_EQ(y[1], 1.0F);
    EXPECT_EQ(y[2], 0.0F);
    EXPECT_EQ(y[3], 0.0F);
    EXPECT_TRUE(std::isnan(y[4]));
  }
}

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double silu(double x) { return x / (1 + std::exp(-x)); }

TEST_P(VectorMath, GeluIsWithinFiveUlpAboveMinusTwo) {
  const auto run = [](auto... a) { HWY_DYNAMIC_DISPATCH(gelu_all)(a...); };
  expect_within(-2, 30, 5, run, gelu);
  expect_within(-1e-6, 1e-6, 5, run, gelu);
}

TEST_P(VectorMath, GeluTailIsAbsolutelyRight) {
  const std::vector<float> x = sweep(-20, -2);
  const std::vector<float> y = run_on(x, [](auto... a) { HWY_DYNAMIC_DISPATCH(gelu_all)(a...); });
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(y[i], gelu(static_cast<double>(x[i])), 3e-8) << "at " << x[i];
  }
}

TEST_P(VectorMath, SiluIsWithinFourUlpAboveZeroAndAbsolutelyRightBelow) {
  const auto run = [](auto... a) { HWY_DYNAMIC_DISPATCH(silu_all)(a...); };
  expect_within(0, 87, 4, run, silu);
  expect_within(-1e-6, 1e-6, 4, run, silu);
  const std::vector<float> x = sweep(-90, 0);
  const std::vector<float> y = run_on(x, run);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double right = silu(static_cast<double>(x[i]));
    const double ulps = 4 + std::fabs(static_cast<double>(x[i]));
    // -0 where the power is no normal number any more
    const double least = x[i] < -88 ? 1e-35 : 0;
    ASSERT_NEAR(y[i], right, std::min(5e-8, ulps * kEpsilon * std::fabs(right) + least))
        << "at " << x[i];
  }
}

TEST_P(VectorMath, SiluInGroupsHasTheSameBits) {
  std::vector<float> x = sweep(-100, 100);
  for (const float extreme : {-1e30F, -3e38F, 3e38F, kInfinity, 1e-40F}) x.push_back(extreme);
  EXPECT_EQ(run_on(x,
                   [](auto... a) {
                     HWY_DYNAMIC_DISPATCH(silu_in_groups)
                     (a...);
                   }),
            run_on(x, [](auto... a) {
              HWY_DYNAMIC_DISPATCH(silu_all)
              (a...);
            }));
  const std::vector<float> y = run_on({-kInfinity, kNan}, [](auto... a) {
    HWY_DYNAMIC_DISPATCH(silu_in_groups)
    (a...);
  });
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
}

TEST_P(VectorMath, GeluAndSiluTreatTheExtremesAsTheirFormulas) {
  const std::vector<float> x = {0, -0.0F, -1e30F, 1e30F, kInfinity, -kInfinity, kNan, 1e-40F};
  for (const auto& y : {run_on(x,
                               [](auto... a) {
                                 HWY_DYNAMIC_DISPATCH(gelu_all)
                                 (a...);
                               }),
                        run_on(x, [](auto... a) {
                          HWY_DYNAMIC_DISPATCH(silu_all)
                          (a...);
                        })}) {
    EXPECT_EQ(y[0], 0.0F);
    EXPECT_TRUE(y[1] == 0.0F && std::signbit(y[1]));
    EXPECT_EQ(y[2], 0.0F);
    EXPECT_EQ(y[3], 1e30F);
    EXPECT_EQ(y[4], kInfinity);
    EXPECT_TRUE(std::isnan(y[5]));
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_EQ(y[7], 0.5F * 1e-40F);
  }
}

}  // namespace
}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
