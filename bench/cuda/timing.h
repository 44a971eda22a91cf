#pragma once
/// Timing subjects in turns: every one in every round, another one first each time, so that a drift
/// of the device's speed falls on all alike.
#include <string>
#include <vector>

#include "base/statistics.h"
#include "network.h"

namespace assay::bench {

/// What was timed: a subject on one boundary.
struct Timing {
  std::size_t subject = 0;                     ///< its place among the subjects
  std::string boundary;                        ///< "device" or "call"
  std::vector<std::vector<double>> samples{};  ///< milliseconds a call, by round

  [[nodiscard]] double median() const;
  /// Bootstrap over rounds: calls of one round are alike, so rounds are what is drawn again.
  [[nodiscard]] Interval interval() const;
};

/// `device` is timed by the device's own events around one run, from resident normalized numbers to
/// resident logits; `call` by the host's steady clock around Session::run, 8-bit pixels to logits
/// on the host.
std::vector<Timing> time_in_turns(std::vector<Subject>& subjects, const Options& options);

/// Microseconds of each step of the subject's plan at its batch, the median of several profiles.
std::vector<double> time_steps(Subject& subject, const Options& options);

}  // namespace assay::bench
