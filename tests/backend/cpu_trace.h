#pragma once
/// Running a graph and keeping what every value was.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace assay::backend::cpu {

/// Numbers by value name.
using Trace = std::map<std::string, std::vector<float>>;

inline Trace trace_of(const std::shared_ptr<const graph::Graph>& graph, const std::string& target,
                      int level, int batch, int threads, std::span<const float> input) {
  LowerOptions options;
  options.optimization_level = level;
  options.max_batch = batch;
  options.threads = threads;
  const auto plan = lower(graph, parse_target(target), options);
  Trace trace;
  plan->make_session()->trace({{}, input}, batch,
                              [&](const graph::Value& value, int, std::span<const float> numbers) {
                                trace[value.name].assign(numbers.begin(), numbers.end());
                              });
  return trace;
}

/// The largest magnitude, and `least` at least: what tolerances are shares of.
inline float largest_of(std::span<const float> numbers, float least) {
  for (const float x : numbers) least = std::max(least, std::abs(x));
  return least;
}

/// Two traces of one plan's values are the same bits.
inline void expect_same_bits(const Trace& alone, const Trace& together) {
  for (const auto& [name, numbers] : alone) {
    ASSERT_EQ(std::memcmp(numbers.data(), together.at(name).data(), numbers.size() * sizeof(float)),
              0)
        << name << " depends on the number of threads";
  }
}

}  // namespace assay::backend::cpu
