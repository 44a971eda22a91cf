#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "assay/assay.h"
#include "base/machine.h"

namespace assay::bench {
namespace {

double images_a_second(const Timing& timing, const Subject& subject) {
  return 1e3 * subject.batch / timing.median();
}

double total_flops(const Subject& subject) {
  double flops = 0;
  for (const backend::StepInfo& step : subject.plan->steps()) {
    flops += static_cast<double>(step.flops);
  }
  return flops;
}

/// The error as a number, or null: JSON has no infinity.
Json finite(double number) { return std::isfinite(number) ? Json(number) : Json(); }

Json to_json(const Check& check) {
  return {{"passed", check.passed()},
          {"tolerance", check.tolerance},
          {"worst_relative_l2", finite(check.worst)},
          {"worst_value", check.worst_value},
          {"logits_relative_l2", finite(check.logits)},
          {"logits_sqnr_db", finite(check.logits_sqnr)},
          {"values_compared", check.compared},
          {"values_without_counterpart", check.unknown}};
}

Json to_json(const Timing& timing, const Subject& subject) {
  const Interval interval = timing.interval();
  return {{"boundary", timing.boundary},
          {"median_ms", timing.median()},
          {"interval_ms", {interval.low, interval.high}},
          {"images_per_second", images_a_second(timing, subject)},
          {"samples_ms", timing.samples}};
}

Json steps_to_json(const Subject& subject, const std::vector<double>& microseconds) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < microseconds.size(); ++i) {
    const backend::StepInfo& step = subject.plan->steps()[i];
    steps.push_back({{"name", step.name},
                     {"operation", step.operation},
                     {"tactic", step.tactic},
                     {"output", step.output},
                     {"flops", step.flops},
                     {"weight_bytes", step.weight_bytes},
                     {"median_us", microseconds[i]}});
  }
  return steps;
}

Json to_json(const Report& report, std::size_t index) {
  const Subject& subject = (*report.subjects)[index];
  Json found{{"model", subject.network->model},
             {"source", subject.network->source},
             {"format", subject.network->format},
             {"precision", subject.network->bundle.precision},
             {"batch", subject.batch},
             {"plan", subject.plan->description()},
             {"steps_in_plan", subject.plan->steps().size()},
             {"arena_bytes", subject.plan->arena_bytes()},
             {"flops_an_image", total_flops(subject)},
             {"check", to_json(report.checks[index])},
             {"timings", Json::array()},
             {"steps", Json::array()}};
  for (const Timing& timing : report.timings) {
    if (timing.subject == index) found["timings"].push_back(to_json(timing, subject));
  }
  if (index < report.steps.size()) found["steps"] = steps_to_json(subject, report.steps[index]);
  return found;
}

}  // namespace

void print(const Subject& subject, const Check& check) {
  const std::string values = check.compared == 0
                                 ? ""
                                 : fmt::format("{} values, worst {:.1e} at {}; ", check.compared,
                                               check.worst, check.worst_value);
  fmt::print("{} {} batch {}: {}logits {:.1e} ({:.1f} dB); tolerance {:.0e}\n",
             check.passed() ? "ok    " : "FAILED", subject.network->title(), subject.batch, values,
             check.logits, check.logits_sqnr, check.tolerance);
  if (!check.unknown.empty()) {
    fmt::print("       {} values have no counterpart on the cpu backend, the first: {}\n",
               check.unknown.size(), check.unknown.front());
  }
}

void print_steps(const Subject& subject, const std::vector<double>& microseconds, int count) {
  std::vector<std::size_t> order(microseconds.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return microseconds[a] > microseconds[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  fmt::print("{} batch {}: {} steps, {:.1f} us one by one\n", subject.network->title(),
             subject.batch, microseconds.size(),
             std::accumulate(microseconds.begin(), microseconds.end(), 0.0));
  for (const std::size_t i : order) {
    const backend::StepInfo& step = subject.plan->steps()[i];
    const double teraflops =
        static_cast<double>(step.flops) * subject.batch / microseconds[i] * 1e-6;
    fmt::print("{:>9.2f} us {:>7.2f} TFLOP/s  {:<10} {:<22} {:<16} {}\n", microseconds[i],
               teraflops, step.operation, step.tactic, graph::to_string(step.output), step.name);
  }
}

void print(const Report& report) {
  fmt::print("{:<28} {:>5}  {:<6} {:>10}  {:<20} {:>10} {:>8}\n", "network", "batch", "from",
             "median ms", "95% interval, ms", "images/s", "TFLOP/s");
  for (const Timing& timing : report.timings) {
    const Subject& subject = (*report.subjects)[timing.subject];
    const Interval interval = timing.interval();
    const double images = images_a_second(timing, subject);
    fmt::print("{:<28} {:>5}  {:<6} {:>10.4f}  {:<20} {:>10.0f} {:>8.2f}\n",
               subject.network->title(), subject.batch, timing.boundary, timing.median(),
               fmt::format("[{:.4f}, {:.4f}]", interval.low, interval.high), images,
               images * total_flops(subject) * 1e-12);
  }
}

Json to_json(const Report& report) {
  const Options& options = report.options;
  Json subjects = Json::array();
  for (std::size_t i = 0; i < report.checks.size(); ++i) subjects.push_back(to_json(report, i));
  return {
      {"version", version()},
      {"compiler", compiler()},
      {"level", options.level},
      {"rounds", options.rounds},
      {"warmup", options.warmup},
      {"count", options.count},
      {"order", "everything once a round, another one first each round"},
      {"device_boundary", "resident normalized numbers to resident logits, by the device's events"},
      {"call_boundary", "8-bit RGB on the host to logits on the host, steady clock"},
      {"intervals", "95%, bootstrap over rounds"},
      {"host", cpu_model()},
      {"subjects", subjects}};
}

}  // namespace assay::bench
