#include "pipeline/measure.h"

#include <chrono>

#include "base/error.h"

namespace assay::pipeline {

std::vector<Timing> measure(std::span<const Candidate> candidates, const MeasureOptions& options,
                            const std::function<void()>& after_round) {
  using Clock = std::chrono::steady_clock;
  if (options.warmup < 0 || options.iterations < 1) {
    fail(ErrorKind::bad_input,
         "measuring needs 0 or more warm-up rounds and 1 or more iterations, not {} and {}",
         options.warmup, options.iterations);
  }
  std::vector<Timing> timings;
  for (const Candidate& candidate : candidates) {
    timings.push_back({candidate.name, {}});
    timings.back().seconds.reserve(static_cast<std::size_t>(options.iterations));
  }
  for (int round = 0; round < options.warmup + options.iterations; ++round) {
    for (std::size_t turn = 0; turn < candidates.size(); ++turn) {
      const std::size_t which = (static_cast<std::size_t>(round) + turn) % candidates.size();
      const auto begin = Clock::now();
      candidates[which].run(round);
      const std::chrono::duration<double> elapsed = Clock::now() - begin;
      if (round >= options.warmup) timings[which].seconds.push_back(elapsed.count());
    }
    if (after_round) after_round();
  }
  return timings;
}

}  // namespace assay::pipeline
