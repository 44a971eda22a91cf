#pragma once
/// Optimization level 3: measures, on this machine, the tactics among which each step may choose.
#include <functional>
#include <memory>

#include "backend/backend.h"

namespace assay::backend {

struct TuneOptions {
  int runs = 30;  ///< calls of each plan, after a few that are not counted
  /// Called after each round of runs with rounds done and rounds in all.
  std::function<void(int done, int total)> progress;
};

struct Tuned {
  Tactics tactics;             ///< empty where nothing beats the defaults
  int plans = 0;               ///< measured against the default one
  double default_seconds = 0;  ///< a whole call with the default tactics, median
  double tuned_seconds = 0;    ///< and with the tuned ones, from the same interleaved run
};

/// Lowers `graph` once with the default tactics and once for each further choice, runs the plans in
/// turn on a random image, and keeps for each step the tactic with the least median time where it
/// gains 3% or more. Then default and tuned plan run in turn; unless the tuned one is faster as a
/// whole (the 95% interval of the median ratio of a round's calls lies below 1), nothing is kept.
/// Before every call that counts the same plan makes one that does not. `options.tactics` is
/// ignored; the level is 3 whatever it says. Throws as lower() does.
Tuned tune(const std::shared_ptr<const graph::Graph>& graph, const Target& target,
           const LowerOptions& options, const TuneOptions& tuning);

}  // namespace assay::backend
