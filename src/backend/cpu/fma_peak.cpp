#include "backend/cpu/fma_peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/fma_peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kSums = 12;

/// Returns the number of operations done, and through `result` something that needs them all.
double multiply_and_add(std::int64_t rounds, float& result) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  const auto factor = hn::Set(d, 0.999F);
  const auto term = hn::Set(d, 0.5F);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = hn::MulAdd(sums[i], factor, term);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  result = hn::GetLane(sums[0]);
  return 2.0 * kSums * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {
namespace {
HWY_EXPORT(multiply_and_add);
}  // namespace

double measure_fma_peak() {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    float result = 0;
    const Clock::time_point before = Clock::now();
    const double operations = HWY_DYNAMIC_DISPATCH(multiply_and_add)(200000, result);
    const double seconds = std::chrono::duration<double>(Clock::now() - before).count();
    volatile float keep = result;
    static_cast<void>(keep);
    best = std::max(best, operations / seconds / 1e9);
  }
  return best;
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
