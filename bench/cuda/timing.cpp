#include "timing.h"

#include <chrono>
#include <cstdint>
#include <span>

namespace assay::bench {
namespace {

constexpr double kMillisecondsASecond = 1e3;
constexpr double kMicrosecondsASecond = 1e6;

std::vector<double> device_turn(Subject& subject, const Options& options) {
  subject.call_normalized();  // what is timed reads these numbers, where it would read zeros
  const std::vector<float> taken =
      subject.session->time_device(subject.batch, options.warmup, options.count);
  return {taken.begin(), taken.end()};
}

std::vector<double> call_turn(Subject& subject, const Options& options) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < options.warmup; ++i) subject.call();
  std::vector<double> milliseconds;
  for (int i = 0; i < options.count; ++i) {
    const Clock::time_point before = Clock::now();
    subject.call();
    const std::chrono::duration<double> taken = Clock::now() - before;
    milliseconds.push_back(taken.count() * kMillisecondsASecond);
  }
  return milliseconds;
}

std::vector<double> turn(Subject& subject, const Timing& timing, const Options& options) {
  return timing.boundary == "device" ? device_turn(subject, options) : call_turn(subject, options);
}

std::vector<double> joined(const std::vector<std::vector<double>>& rounds,
                           std::span<const std::uint32_t> drawn) {
  std::vector<double> all;
  for (const std::uint32_t round : drawn) {
    all.insert(all.end(), rounds[round].begin(), rounds[round].end());
  }
  return all;
}

}  // namespace

double Timing::median() const {
  std::vector<double> all;
  for (const auto& round : samples) all.insert(all.end(), round.begin(), round.end());
  return assay::median(all);
}

Interval Timing::interval() const {
  return bootstrap_interval(samples.size(), [this](std::span<const std::uint32_t> drawn) {
    return assay::median(joined(samples, drawn));
  });
}

std::vector<Timing> time_in_turns(std::vector<Subject>& subjects, const Options& options) {
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    for (const char* boundary : {"device", "call"}) timings.push_back({i, boundary});
  }
  const std::size_t turns = timings.size();
  for (std::size_t i = 0; i < turns; ++i) turn(subjects[timings[i].subject], timings[i], options);
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < turns; ++i) {
      Timing& timing = timings[(static_cast<std::size_t>(round) + i) % turns];
      timing.samples.push_back(turn(subjects[timing.subject], timing, options));
    }
  }
  return timings;
}

std::vector<double> time_steps(Subject& subject, const Options& options) {
  const std::size_t steps = subject.plan->steps().size();
  std::vector<std::vector<double>> samples(steps);
  for (int i = 0; i < options.warmup + options.count; ++i) {
    std::vector<double> seconds(steps);
    subject.session->profile({subject.rgb, {}}, subject.batch, seconds);
    if (i < options.warmup) continue;
    for (std::size_t s = 0; s < steps; ++s) {
      samples[s].push_back(seconds[s] * kMicrosecondsASecond);
    }
  }
  std::vector<double> microseconds;
  for (const auto& step : samples) microseconds.push_back(assay::median(step));
  return microseconds;
}

}  // namespace assay::bench
