#include "cli/inspection.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <unordered_map>

#include "base/progress.h"
#include "base/statistics.h"
#include "base/thread_pool.h"
#include "cli/sample_image.h"
#include "cli/source.h"
#include "quant/quant.h"

namespace assay::cli {
namespace {

constexpr int kWarmupRuns = 3;
constexpr int kMaxRuns = 50;
/// The reference backend takes seconds an image; fewer runs then, but some.
constexpr std::chrono::seconds kTimeLimit{5};
constexpr int kMinRuns = 3;

std::unique_ptr<backend::Plan> lower(const bundle::Bundle& bundle, const TargetOptions& target) {
  backend::LowerOptions options = bundle::lower_options(bundle, target_of(target), target.threads);
  options.max_batch = 1;
  return backend::lower(bundle.graph, target_of(target), options);
}

/// Steps' times of one run after the other.
std::vector<std::vector<double>> profile_runs(const backend::Plan& plan,
                                              const image::Transform& transform) {
  using Clock = std::chrono::steady_clock;
  const image::Image image = random_image(transform.input_width, transform.input_height, 1);
  const auto session = plan.make_session();
  std::vector<std::vector<double>> runs;
  Progress bar("profile", kWarmupRuns + kMaxRuns);
  auto deadline = Clock::now() + kTimeLimit;
  for (int run = -kWarmupRuns; run < kMaxRuns; ++run) {
    if (run >= kMinRuns && Clock::now() > deadline) break;
    std::vector<double> seconds(plan.steps().size(), 0.0);
    session->profile({.rgb = image.pixels, .tensor = {}}, 1, seconds);
    if (run >= 0) runs.push_back(std::move(seconds));
    bar.advance();
  }
  return runs;
}

std::map<std::string, double> measure_peaks(const InspectOptions& options,
                                            const Inspection& inspection) {
  std::map<std::string, double> peaks;
  const backend::Target target = target_of(options.target);
  if (target.backend != "cpu") return peaks;
  const int threads = options.target.threads > 0 ? options.target.threads : available_cores();
  for (const std::string& precision : step_precisions(inspection)) {
    if (peaks.contains(precision)) continue;
    peaks[precision] =
        threads * backend::measure_peak(target, *graph::precision_from_name(precision));
  }
  return peaks;
}

}  // namespace

Inspection inspect(const InspectOptions& options) {
  Inspection inspection;
  inspection.description = open_source(options.path);
  const bundle::Bundle& bundle = inspection.description.bundle;
  inspection.plan = lower(bundle, options.target);
  if (!options.profile) return inspection;
  const auto runs = profile_runs(*inspection.plan, bundle.transform);
  inspection.profile_runs = static_cast<int>(runs.size());
  for (std::size_t step = 0; step < inspection.plan->steps().size(); ++step) {
    std::vector<double> samples;
    samples.reserve(runs.size());
    for (const std::vector<double>& run : runs) samples.push_back(run[step]);
    inspection.step_seconds.push_back(median(samples));
  }
  inspection.peaks = measure_peaks(options, inspection);
  return inspection;
}

std::vector<std::string> step_precisions(const Inspection& inspection) {
  std::unordered_map<std::string_view, graph::Precision> nodes;
  for (const graph::Node& node : inspection.description.bundle.graph->nodes) {
    nodes.emplace(node.name, node.precision);
  }
  std::vector<std::string> precisions;
  for (const backend::StepInfo& step : inspection.plan->steps()) {
    const auto found = nodes.find(step.name);
    precisions.emplace_back(
        graph::name(found == nodes.end() ? graph::Precision::fp32 : found->second));
  }
  return precisions;
}

std::vector<std::optional<double>> shares_of_peak(const Inspection& inspection) {
  const auto steps = inspection.plan->steps();
  const std::vector<std::string> precisions = step_precisions(inspection);
  std::vector<std::optional<double>> shares(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto peak = inspection.peaks.find(precisions[i]);
    const double seconds = inspection.step_seconds[i];
    if (peak == inspection.peaks.end() || steps[i].flops == 0 || seconds <= 0) continue;
    shares[i] = static_cast<double>(steps[i].flops) / seconds / 1e9 / peak->second;
  }
  return shares;
}

std::uint64_t total_flops(const backend::Plan& plan) {
  std::uint64_t flops = 0;
  for (const backend::StepInfo& step : plan.steps()) flops += step.flops;
  return flops;
}

}  // namespace assay::cli
