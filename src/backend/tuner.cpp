#include "backend/tuner.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

#include "base/statistics.h"

namespace assay::backend {
namespace {

constexpr int kWarmupRuns = 3;
/// A smaller gain is not told from noise by this many runs.
constexpr double kLeastGain = 0.03;

/// Seconds a step, by the names of the default plan's steps.
using Samples = std::map<std::string, std::vector<double>, std::less<>>;

/// A plan that takes every step's choice number `choice`, where it has so many.
struct Variant {
  std::size_t choice = 0;
  std::unique_ptr<Plan> plan;
  std::unique_ptr<Session> session;
  Samples samples;
  std::vector<double> calls;
};

class Tuner {
 public:
  Tuner(std::shared_ptr<const graph::Graph> graph, Target target, LowerOptions options)
      : graph_(std::move(graph)), target_(std::move(target)), options_(std::move(options)) {
    options_.optimization_level = 3;
    options_.tactics = {};
    const auto count = static_cast<std::size_t>(graph::elements(graph_->value(graph_->input).dims));
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < count; ++i) input_.push_back(normal(generator));
    logits_.resize(
        static_cast<std::size_t>(graph::elements(graph_->value(graph_->output("logits")).dims)));
    lower_variants();
  }

  Tuned run(const TuneOptions& tuning) {
    const int rounds = 2 * tuning.runs;
    const auto report = [&](int done) {
      if (tuning.progress) tuning.progress(done, rounds);
    };
    for (int run = -kWarmupRuns; run < tuning.runs; ++run) {
      for (Variant& variant : variants_) {
        settle(variant);
        profile(variant, run >= 0);
      }
      if (run >= 0) report(run + 1);
    }
    Tuned tuned;
    tuned.plans = static_cast<int>(variants_.size()) - 1;
    tuned.tactics = choose();
    Variant best = make_variant(0, tuned.tactics);
    Variant& plain = variants_.front();
    for (int run = -kWarmupRuns; run < tuning.runs; ++run) {
      for (Variant* variant : {&plain, &best}) {
        settle(*variant);
        time_call(*variant, run >= 0);
      }
      if (run >= 0) report(tuning.runs + run + 1);
    }
    tuned.default_seconds = median(plain.calls);
    tuned.tuned_seconds = median(best.calls);
    if (!is_faster(best, plain)) tuned.tactics = {};
    return tuned;
  }

 private:
  Variant make_variant(std::size_t choice, const Tactics& tactics) {
    LowerOptions options = options_;
    options.tactics = tactics;
    Variant variant;
    variant.choice = choice;
    variant.plan = lower(graph_, target_, options);
    variant.session = variant.plan->make_session();
    return variant;
  }

  void lower_variants() {
    variants_.push_back(make_variant(0, {}));
    const auto steps = variants_.front().plan->steps();
    for (const StepInfo& step : steps) names_.insert(step.name);
    std::size_t most = 1;
    for (const StepInfo& step : steps) most = std::max(most, step.choices.size());
    for (std::size_t choice = 1; choice < most; ++choice) {
      Tactics tactics;
      for (const StepInfo& step : variants_.front().plan->steps()) {
        if (choice < step.choices.size()) tactics[step.name] = step.choices[choice];
      }
      variants_.push_back(make_variant(choice, tactics));
    }
  }

  void profile(Variant& variant, bool counted) {
    const auto steps = variant.plan->steps();
    std::vector<double> seconds(steps.size());
    variant.session->profile({{}, input_}, 1, seconds);
    if (!counted) return;
    // Where a tactic does a step's work in several, those before the last have names of their own.
    double pending = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      pending += seconds[i];
      if (!names_.contains(steps[i].name)) continue;
      auto& samples = variant.samples[steps[i].name];
      const bool again = i > 0 && steps[i].name == steps[i - 1].name;
      again ? void(samples.back() += pending) : samples.push_back(pending);
      pending = 0;
    }
  }

  /// The plan that ran before has filled the caches, and its threads still wait for work on the
  /// cores: a call that does not count goes first.
  void settle(Variant& variant) { variant.session->run({{}, input_}, 1, {logits_, {}}); }

  /// Whether the one is faster in its rounds by more than noise explains.
  static bool is_faster(const Variant& one, const Variant& other) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < one.calls.size(); ++i) {
      ratios.push_back(one.calls[i] / other.calls[i]);
    }
    return median_interval(ratios).high < 1;
  }

  void time_call(Variant& variant, bool counted) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point before = Clock::now();
    variant.session->run({{}, input_}, 1, {logits_, {}});
    if (counted) {
      variant.calls.push_back(std::chrono::duration<double>(Clock::now() - before).count());
    }
  }

  [[nodiscard]] Tactics choose() {
    Tactics tactics;
    for (const StepInfo& step : variants_.front().plan->steps()) {
      double best = median(variants_.front().samples[step.name]) * (1 - kLeastGain);
      for (Variant& variant : variants_) {
        if (variant.choice == 0 || variant.choice >= step.choices.size()) continue;
        const double now = median(variant.samples[step.name]);
        if (now >= best) continue;
        best = now;
        tactics[step.name] = step.choices[variant.choice];
      }
    }
    return tactics;
  }

  std::shared_ptr<const graph::Graph> graph_;
  Target target_;
  LowerOptions options_;
  std::vector<float> input_;
  std::vector<float> logits_;
  std::set<std::string, std::less<>> names_;
  std::vector<Variant> variants_;
};

}  // namespace

Tuned tune(const std::shared_ptr<const graph::Graph>& graph, const Target& target,
           const LowerOptions& options, const TuneOptions& tuning) {
  return Tuner(graph, target, options).run(tuning);
}

}  // namespace assay::backend
