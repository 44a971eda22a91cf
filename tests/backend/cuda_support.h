#pragma once
/// The cuda backend against the reference backend, value by value, at every format that it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/cuda.h"
#include "graph/scaled.h"

namespace assay::backend::cuda {

/// Tests that run something on a device; skipped where there is none.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = why_unavailable(0))
      GTEST_SKIP() << "skipped: no CUDA device (" << *why << ")";
  }
};

/// Numbers by value name.
using Trace = std::map<std::string, std::vector<float>>;

/// What found values may differ by from expected ones: the root of the mean squared difference as
/// a share of the same of the value, and each difference as a share of the value's largest number.
struct Tolerance {
  double rms;
  double each;
};

/// How the products of a graph take their operands, and what that does to the tolerances.
struct Way {
  const char* name;
  graph::Precision precision;
  graph::Scales scales;
  Tolerance layer;    ///< one product of numbers that fp16 has
  Tolerance network;  ///< some ten products, normalized in between
};

/// - fp32: an fp32 sum of K products errs by about √K · 2⁻²⁴ of its size, K a few hundred here.
/// - bf16: activations are fp32 and both sides round the same operands, so one layer is as at fp32;
///   behind others a sum falls on the other side of a tie of bf16 now and then, 2⁻⁸ off, and
///   attention rounds exp(score - largest) where the reference rounds the softmax.
/// - fp16: what a layer writes is rounded to fp16, 2⁻¹¹ of itself at most.
/// - nvfp4: as fp16, and a weight, the product of three numbers, is rounded to fp16 too.
/// - fp8: as fp16; behind other layers a number is fp16 here and fp32 there, so about one in a
///   hundred falls on the other side of a tie of E4M3, an eighth of itself.
/// Behind other layers the most that was seen on an H200 was 0.027 of nvfp4 and 0.107 of fp8 (root
/// mean square), both behind attention to random keys, which is steep.
inline constexpr std::array<Way, 6> kWays{
    {{"fp32", graph::Precision::fp32, graph::Scales::tensor, {1e-5, 2.4e-5}, {5e-5, 2e-4}},
     {"bf16", graph::Precision::bf16, graph::Scales::tensor, {1e-5, 2.4e-5}, {2e-2, 1e-1}},
     {"fp16", graph::Precision::fp16, graph::Scales::tensor, {4e-4, 1e-3}, {4e-2, 1e-1}},
     {"nvfp4", graph::Precision::nvfp4, graph::Scales::tensor, {8e-4, 2e-3}, {4e-2, 1e-1}},
     {"fp8, a scale a tensor",
      graph::Precision::fp8,
      graph::Scales::tensor,
      {1e-3, 4e-3},
      {1.5e-1, 5e-1}},
     {"fp8, a scale a channel",
      graph::Precision::fp8,
      graph::Scales::channel,
      {1e-3, 4e-3},
      {1.5e-1, 5e-1}}}};

/// fp8's scale of numbers whose largest becomes E4M3's largest.
inline float scale_for(std::span<const float> numbers) {
  return std::max(graph::largest_magnitude(numbers), 1e-3F) / 448;
}

/// Whether the node is attention, or a product that can be narrow.
inline bool is_layer(const graph::Node& node) {
  return graph::can_have(node.op, graph::Precision::bf16);
}

/// Gives a layer of `graph` the way's format. `wide` is what the fp32 graph's values are: fp8's
/// scales come from there. Attention has no nvfp4: it is fp16 then, as recipes have it.
inline void narrow(graph::Graph& graph, const std::string& name, const Way& way,
                   const Trace& wide) {
  graph::Node& node = graph::node_named(graph, name);
  const bool attention = std::holds_alternative<graph::Attention>(node.op);
  switch (way.precision) {
    case graph::Precision::bf16:
      graph::make_bf16(graph, name);
      break;
    case graph::Precision::fp8:
      graph::make_fp8(graph, name, way.scales,
                      scale_for(wide.at(graph.value(node.inputs[0]).name)));
      break;
    case graph::Precision::nvfp4:
      attention ? graph::make_fp16(graph, name) : graph::make_nvfp4(graph, name);
      break;
    case graph::Precision::fp16:
      graph::make_fp16(graph, name);
      break;
    default:
      break;
  }
}

inline std::vector<std::string> layers_of(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) {
    if (is_layer(node)) names.push_back(node.name);
  }
  return names;
}

/// Numbers that fp16 has, -1 to 1, so that what stores them as fp16 does not round them.
inline std::vector<float> fp16_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = numerics::Fp16::decode(numerics::Fp16::encode(uniform(random)));
  return numbers;
}

inline std::vector<float> input_for(const graph::Graph& graph, int batch) {
  const auto each = static_cast<std::size_t>(graph::elements(graph.value(graph.input).dims));
  return fp16_numbers(each * static_cast<std::size_t>(batch), 7);
}

/// What every value is that the plan materializes, and the graph's own input.
inline Trace trace_of(const std::shared_ptr<const graph::Graph>& graph, const Target& target,
                      int level, int batch, std::span<const float> input) {
  LowerOptions options;
  options.optimization_level = level;
  options.max_batch = batch;
  Trace trace;
  trace[graph->value(graph->input).name].assign(input.begin(), input.end());
  const auto plan = lower(graph, target, options);
  plan->make_session()->trace({{}, input}, batch,
                              [&](const graph::Value& value, int, std::span<const float> numbers) {
                                trace[value.name].assign(numbers.begin(), numbers.end());
                              });
  return trace;
}

inline void expect_value_close(const std::string& name, std::span<const float> want,
                               std::span<const float> got, const Tolerance& tolerance) {
  ASSERT_EQ(got.size(), want.size()) << name;
  constexpr double kFloor = 0.1;  // values are around 1: what cancelled out is not judged by itself
  double square = 0;
  double off = 0;
  double largest_off = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(std::isfinite(got[i])) << name << " at " << i;
    const double difference = static_cast<double>(got[i]) - static_cast<double>(want[i]);
    square += static_cast<double>(want[i]) * static_cast<double>(want[i]);
    off += difference * difference;
    largest_off = std::max(largest_off, std::abs(difference));
  }
  const auto count = static_cast<double>(want.size());
  EXPECT_LE(std::sqrt(off / count), tolerance.rms * std::max(std::sqrt(square / count), kFloor))
      << name;
  EXPECT_LE(largest_off, tolerance.each * std::max<double>(graph::largest_magnitude(want), kFloor))
      << name;
}

inline void expect_close(const Trace& want, const Trace& got, const Tolerance& tolerance) {
  ASSERT_GT(got.size(), 1U);
  for (const auto& [name, numbers] : got) {
    expect_value_close(name, want.at(name), numbers, tolerance);
  }
}

/// `graph` on the device at levels 0 and 1 and two batches against the reference backend.
inline void expect_agreement(graph::Graph made, const Tolerance& tolerance) {
  graph::verify(made);
  const auto graph = std::make_shared<const graph::Graph>(std::move(made));
  for (const int batch : {1, 3}) {
    const std::vector<float> input = input_for(*graph, batch);
    const Trace want = trace_of(graph, {"reference", 0}, 0, batch, input);
    for (const int level : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "level " << level << ", batch " << batch);
      const Trace got = trace_of(graph, {"cuda", 0}, level, batch, input);
      EXPECT_TRUE(got.contains(graph->value(graph->output("logits")).name));
      expect_close(want, got, tolerance);
    }
  }
}

/// The graph with every layer narrowed the same way.
inline graph::Graph narrowed(graph::Graph graph, const Way& way) {
  const auto wide = std::make_shared<const graph::Graph>(graph);
  const Trace values = trace_of(wide, {"reference", 0}, 0, 1, input_for(graph, 1));
  for (const std::string& name : layers_of(graph)) narrow(graph, name, way, values);
  return graph;
}

/// An fp32 graph in every format.
inline void expect_agreement_in_every_way(const graph::Graph& graph, Tolerance Way::*tolerance) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    expect_agreement(narrowed(graph, way), way.*tolerance);
  }
}

}  // namespace assay::backend::cuda
