#pragma once
/// What the benchmarks of the cpu backend's kernels share: how a case is timed, and the program.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "assay/error.h"
#include "backend/cpu/aligned_buffer.h"
#include "backend/cpu/fma_peak.h"
#include "backend/cpu/isa.h"

namespace assay::bench {

/// `count` numbers, evenly spread over -bound to bound.
inline backend::cpu::AlignedBuffer random_buffer(std::int64_t count, unsigned seed, float bound) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-bound, bound);
  backend::cpu::AlignedBuffer buffer(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer.data()[i] = uniform(generator);
  return buffer;
}

/// How many copies of `floats` numbers exceed the second-level cache together, `most` at most.
inline std::int64_t copies_beyond_cache(std::int64_t floats, std::int64_t most) {
  constexpr std::int64_t kBeyondCache = 2 << 20;  // floats: 8 MiB
  return std::clamp<std::int64_t>(kBeyondCache / floats, 1, most);
}

/// Times `call(copy)` for each of `copies` copies in turn.
template <class Call>
void time_in_turn(benchmark::State& state, std::size_t copies, const Call& call) {
  std::size_t turn = 0;
  for (auto _ : state) {
    call(turn);
    benchmark::ClobberMemory();
    turn = (turn + 1) % copies;
  }
}

/// GFLOP/s and their share of `peak`, of a call of `flops`.
inline void count_flops(benchmark::State& state, double flops, double peak) {
  using benchmark::Counter;
  const double gflop = static_cast<double>(state.iterations()) * flops / 1e9;
  state.counters["GFLOP/s"] = Counter(gflop, Counter::kIsRate);
  state.counters["of_peak"] = Counter(gflop / peak, Counter::kIsRate);
}

/// A case: its name, and what times it given the measured peak.
struct TimedCase {
  std::string name;
  std::function<void(benchmark::State&, double peak)> time;
};

/// The program: Google Benchmark's options, on the instruction set that ASSAY_CPU_ISA names or the
/// best. Returns the exit code.
inline int run_cases(int argc, char** argv, const std::vector<TimedCase>& cases) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const double peak = backend::cpu::measure_fma_peak();
  benchmark::AddCustomContext("isa", std::string(backend::cpu::name(backend::cpu::active_isa())));
  benchmark::AddCustomContext("peak_gflops", std::to_string(peak));
  for (const TimedCase& timed : cases) {
    benchmark::RegisterBenchmark(
        timed.name.c_str(), [timed, peak](benchmark::State& state) { timed.time(state, peak); })
        ->Unit(benchmark::kMicrosecond)
        ->MinTime(0.05);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 2;
}

}  // namespace assay::bench
