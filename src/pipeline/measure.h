#pragma once
/// Measuring time so that the figure can be quoted: interleaved, warmed up, every sample kept.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/statistics.h"

namespace assay::pipeline {

/// Something to time. `run(iteration)` must return only when its work is done (a device must be
/// synchronized); iterations count up through warm-up and measuring, so that inputs can rotate.
struct Candidate {
  std::string name;
  std::function<void(int iteration)> run;
};

struct MeasureOptions {
  int warmup = 10;       ///< rounds that are not kept
  int iterations = 100;  ///< rounds that are
};

/// What was measured: one sample an iteration, in the order taken.
struct Timing {
  std::string name;
  std::vector<double> seconds;  ///< wall time, steady clock
  [[nodiscard]] double median() const { return assay::median(seconds); }
  [[nodiscard]] Interval interval() const { return median_interval(seconds); }
};

/// Times the candidates round by round: each round runs every candidate once, beginning with
/// another one each time, so that a drift of the machine's speed falls on all alike and none always
/// runs in the wake of the same other. `after_round` (may be empty) is called outside the timed
/// regions. Throws what the candidates throw, and bad_input for options below 0 warm-up rounds or 1
/// iteration.
std::vector<Timing> measure(std::span<const Candidate> candidates, const MeasureOptions& options,
                            const std::function<void()>& after_round = {});

}  // namespace assay::pipeline
