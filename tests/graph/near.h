#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <span>

namespace assay::graph {

/// Passes where the numbers differ by at most `tolerance` × (1 + |wanted|).
inline testing::AssertionResult near(std::span<const float> got, std::span<const float> wanted,
                                     double tolerance) {
  if (got.size() != wanted.size()) {
    return testing::AssertionFailure() << got.size() << " numbers, not " << wanted.size();
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double allowed = tolerance * (1.0 + std::abs(static_cast<double>(wanted[i])));
    if (!(std::abs(static_cast<double>(got[i]) - wanted[i]) <= allowed)) {
      return testing::AssertionFailure()
             << "number " << i << " is " << got[i] << ", not " << wanted[i];
    }
  }
  return testing::AssertionSuccess();
}

/// Rewrites change the order of a few fp32 roundings, each 2^-24 of the number it rounds.
inline constexpr double kRounding = 2e-6;

}  // namespace assay::graph
