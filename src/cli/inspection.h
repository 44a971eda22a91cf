#pragma once
/// What `assay inspect` finds out, and how it is shown.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/json.h"
#include "bundle/bundle.h"
#include "cli/target_options.h"

namespace assay::cli {

class Console;

struct InspectOptions {
  std::string path;
  bool layers = false;
  bool profile = false;
  TargetOptions target;
};

struct Inspection {
  bundle::Description description;
  std::unique_ptr<backend::Plan> plan;
  std::vector<double> step_seconds;  ///< median of each step; empty where not profiled
  int profile_runs = 0;
  /// GFLOP/s of all the call's threads at each precision that a step has; empty where not profiled
  /// or where the backend is not there for its speed.
  std::map<std::string, double> peaks;
};

/// Reads, lowers and, where asked to, profiles.
Inspection inspect(const InspectOptions& options);

/// The precision of each of the plan's steps: that of the node it is named after.
std::vector<std::string> step_precisions(const Inspection& inspection);

/// What each step reached of its precision's peak, 0 to 1 (above where a tactic does with less
/// arithmetic than its operators say); nothing where there is no peak or no arithmetic. Of a
/// profiled plan.
std::vector<std::optional<double>> shares_of_peak(const Inspection& inspection);

/// The sum over the plan's steps, per image.
std::uint64_t total_flops(const backend::Plan& plan);

Json to_json(const InspectOptions& options, const Inspection& inspection);
void print_summary(const InspectOptions& options, const Inspection& inspection, Console& console);
/// The plan's steps as a table, with times where they were profiled.
void print_layers(const InspectOptions& options, const Inspection& inspection, Console& console);

}  // namespace assay::cli
