#pragma once
/// What was found, for people and for programs.
#include <vector>

#include "base/json.h"
#include "check.h"
#include "network.h"
#include "timing.h"

namespace assay::bench {

/// Everything of one run. `checks` and `steps` are by subject; `steps` of the first of
/// batch 1 alone.
struct Report {
  Options options;
  const std::vector<Subject>* subjects = nullptr;
  std::vector<Check> checks;
  std::vector<Timing> timings;
  std::vector<std::vector<double>> steps;
};

/// One line: how far the subject is off, and where.
void print(const Subject& subject, const Check& check);

/// The `count` slowest steps of a subject, slowest first, and the sum of all.
void print_steps(const Subject& subject, const std::vector<double>& microseconds, int count);

/// The table of all timings.
void print(const Report& report);

/// With every sample.
Json to_json(const Report& report);

}  // namespace assay::bench
