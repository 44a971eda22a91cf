/// Times the kernels that emulate narrow formats, on one core, on the instruction set that
/// ASSAY_CPU_ISA names or the best, at the sizes of the supported networks. `fake_quantize` is
/// bound by memory: its counters are GB/s read and written, and their share of what memcpy reaches
/// between the same buffers. `emulated_attention` is bound by arithmetic: GFLOP/s and their share
/// of the measured peak. Each case is first compared with the portable kernels; its buffers are
/// several copies that together exceed the second-level cache, used in turn.
#include <fmt/core.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

#include "backend/cpu/kernels/emulated_attention.h"
#include "backend/cpu/kernels/fake_quantize.h"
#include "kernel_bench.h"

namespace assay::backend::cpu {
namespace {

using bench::random_buffer;
using graph::FakeQuantize;
using graph::NumberFormat;

using Buffers = std::vector<AlignedBuffer>;

AlignedBuffer run_portably(std::int64_t outputs, const std::function<void(float* y)>& run) {
  const Isa isa = active_isa();
  use_isa(Isa::portable);
  AlignedBuffer y(static_cast<std::size_t>(outputs));
  run(y.data());
  use_isa(isa);
  return y;
}

/// The least time of memcpy between each pair of buffers, in seconds a call.
double copy_seconds(const Buffers& from, Buffers& to) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 20;
  double least = HUGE_VAL;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::memcpy(to[i].data(), from[i].data(), from[i].size() * sizeof(float));
      benchmark::ClobberMemory();
    }
    const std::chrono::duration<double> taken = Clock::now() - start;
    least = std::min(least, taken.count() / static_cast<double>(from.size()));
  }
  return least;
}

void time_fake_quantize(benchmark::State& state, const FakeQuantize& op, std::int64_t count) {
  Buffers inputs;
  Buffers outputs;
  for (std::int64_t i = 0; i < bench::copies_beyond_cache(2 * count, 64); ++i) {
    inputs.push_back(random_buffer(count, static_cast<unsigned>(i), 8.0F));
    outputs.emplace_back(static_cast<std::size_t>(count));
  }
  const auto run = [&](std::size_t turn, float* y) {
    fake_quantize(op, inputs[turn].data(), y, count);
  };
  const AlignedBuffer plain = run_portably(count, [&](float* y) { run(0, y); });
  run(0, outputs[0].data());
  if (!std::equal(plain.data(), plain.data() + count, outputs[0].data())) {
    state.SkipWithError("the result differs from the portable kernel's");
    return;
  }
  const double copy = copy_seconds(inputs, outputs);
  bench::time_in_turn(state, inputs.size(),
                      [&](std::size_t turn) { run(turn, outputs[turn].data()); });
  using benchmark::Counter;
  const auto calls = static_cast<double>(state.iterations());
  state.counters["GB/s"] =
      Counter(calls * 8.0 * static_cast<double>(count) / 1e9, Counter::kIsRate);
  state.counters["of_copy"] = Counter(calls * copy, Counter::kIsRate);
}

/// q, k and v as one fused projection leaves them.
AttentionArgs attention_args(std::int64_t groups, std::int64_t tokens, int heads, int head_dim) {
  const std::int64_t width = std::int64_t{heads} * head_dim;
  AttentionArgs args;
  args.q_stride = args.k_stride = args.v_stride = 3 * width;
  args.out_stride = width;
  args.q_batch_stride = args.k_batch_stride = args.v_batch_stride = tokens * 3 * width;
  args.out_batch_stride = tokens * width;
  args.batch = groups;
  args.queries = args.keys = tokens;
  args.heads = heads;
  args.head_dim = head_dim;
  args.scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  return args;
}

/// A softmax weight near a tie of E4M3 may round either way where sums differ in their last bits:
/// then its row differs by an eighth of one weight. Few may.
bool nearly_equal(const AlignedBuffer& a, const AlignedBuffer& b) {
  std::size_t off = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float apart = std::fabs(a.data()[i] - b.data()[i]);
    if (!(apart <= 0.25F)) return false;
    off += apart > 1e-4F ? 1 : 0;
  }
  return off * 50 <= a.size();
}

void time_attention(benchmark::State& state, const AttentionArgs& args, double peak) {
  const std::int64_t width = std::int64_t{args.heads} * args.head_dim;
  const std::int64_t outputs = args.batch * args.queries * width;
  constexpr std::array<float, 3> kScales{0.005F, 0.005F, 0.005F};
  const auto run = [&](const AlignedBuffer& x, float* y) {
    AttentionArgs now = args;
    now.q = x.data();
    now.k = x.data() + width;
    now.v = x.data() + 2 * width;
    now.out = y;
    AlignedBuffer scratch(static_cast<std::size_t>(emulated_attention_scratch_floats(now)));
    emulated_attention(now, kScales, 0, emulated_attention_items(now), scratch.data());
  };
  Buffers inputs;
  Buffers results;
  for (std::int64_t i = 0; i < bench::copies_beyond_cache(4 * outputs, 64); ++i) {
    inputs.push_back(random_buffer(3 * outputs, static_cast<unsigned>(i), 2.0F));
    results.emplace_back(static_cast<std::size_t>(outputs));
  }
  const AlignedBuffer plain = run_portably(outputs, [&](float* y) { run(inputs[0], y); });
  run(inputs[0], results[0].data());
  if (!nearly_equal(plain, results[0])) {
    state.SkipWithError("the result differs from the portable kernel's");
    return;
  }
  bench::time_in_turn(state, inputs.size(),
                      [&](std::size_t turn) { run(inputs[turn], results[turn].data()); });
  const double products = static_cast<double>(outputs) * static_cast<double>(args.keys);
  bench::count_flops(state, 4.0 * products, peak);
}

std::vector<bench::TimedCase> all_cases() {
  std::vector<bench::TimedCase> cases;
  struct Rounding {
    const char* name;
    FakeQuantize op;
  };
  for (const auto& [name, op] : {Rounding{"e4m3", {NumberFormat::e4m3, 0.017578125, 0}},
                                 Rounding{"affine_u8", {NumberFormat::affine_u8, 0.0625, 128}},
                                 Rounding{"bf16", {NumberFormat::bf16, 1.0, 0}},
                                 Rounding{"fp16", {NumberFormat::fp16, 1.0, 0}}}) {
    // CrossViT's smaller tokens; MobileViT's widest image.
    for (const std::int64_t count : {401 * 128, 128 * 128 * 128}) {
      cases.push_back(
          {fmt::format("fake_quantize/{}/{}", name, count),
           [op, count](benchmark::State& state, double) { time_fake_quantize(state, op, count); }});
    }
  }
  for (const AttentionArgs& args : {attention_args(1, 401, 4, 32), attention_args(1, 197, 4, 64),
                                    attention_args(4, 256, 4, 36), attention_args(4, 16, 4, 60)}) {
    cases.push_back(
        {fmt::format("emulated_attention/{}x{}/heads{}x{}", args.batch, args.keys, args.heads,
                     args.head_dim),
         [args](benchmark::State& state, double peak) { time_attention(state, args, peak); }});
  }
  return cases;
}

}  // namespace
}  // namespace assay::backend::cpu

int main(int argc, char** argv) {
  return assay::bench::run_cases(argc, argv, assay::backend::cpu::all_cases());
}
