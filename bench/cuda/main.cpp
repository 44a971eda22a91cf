/// Checks networks on a GPU, value by value, and then times them.
///
///     assay_cuda_bench SOURCE... [--precision fp16,fp8] [--calibration PATH] [--batches 1,8,128]
///                      [--json FILE]
///
/// A SOURCE is a checkpoint's folder, built here in memory, or a bundle. Every value of every plan
/// is compared with the cpu backend's on random images; where one is too far off, nothing is timed
/// and the exit code is 1. The table comes last.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "check.h"
#include "device.h"
#include "network.h"
#include "options.h"
#include "report.h"
#include "timing.h"

namespace {

using namespace assay;
using namespace assay::bench;

std::vector<Subject> all_subjects(const std::vector<Network>& networks, const Options& options) {
  std::vector<Subject> subjects;
  for (const Network& network : networks) {
    for (const int batch : options.batches) {
      subjects.push_back(make_subject(network, options, batch));
    }
  }
  return subjects;
}

/// Prints each as it is found; what the cpu backend computes is kept for one network at a time.
std::vector<Check> check_all(std::vector<Subject>& subjects, const Options& options) {
  const int largest = *std::ranges::max_element(options.batches);
  std::vector<Check> checks;
  const Network* known = nullptr;
  Expected expected;
  for (Subject& subject : subjects) {
    if (subject.network != known) expected = expect(*subject.network, largest);
    known = subject.network;
    checks.push_back(check(subject, expected));
    print(subject, checks.back());
  }
  return checks;
}

std::vector<std::vector<double>> profile_all(std::vector<Subject>& subjects,
                                             const Options& options) {
  std::vector<std::vector<double>> steps(subjects.size());
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (subjects[i].batch != 1) continue;
    steps[i] = time_steps(subjects[i], options);
    if (options.steps > 0) print_steps(subjects[i], steps[i], options.steps);
  }
  return steps;
}

int run(const Options& options) {
  const std::vector<Network> networks = open_networks(options);
  std::vector<Subject> subjects = all_subjects(networks, options);
  Json device = describe_device(options.device);
  device["before"] = device_state(options.device);
  fmt::print("{}\n", device.dump());

  Report report{options, &subjects, check_all(subjects, options), {}, {}};
  const bool passed = std::ranges::all_of(report.checks, &Check::passed);
  if (passed && !options.check_only) {
    report.steps = profile_all(subjects, options);
    report.timings = time_in_turns(subjects, options);
    device["after"] = device_state(options.device);
  }
  if (!options.json.empty()) {
    Json answer = to_json(report);
    answer["device"] = device;
    write_file(options.json, answer.dump() + "\n");
  }
  if (!report.timings.empty()) print(report);
  if (!passed) fmt::print("FAILED: some values are beyond their tolerance; nothing was timed\n");
  return passed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Parsed parsed = parse(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  try {
    return run(parsed.options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "assay_cuda_bench: {}\n", error.what());
    return 1;
  }
}
