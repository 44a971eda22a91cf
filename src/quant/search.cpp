#include "quant/search.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "quant/logit_error.h"
#include "quant/sensitivity.h"

namespace assay::quant {
namespace {

using graph::Precision;

/// How a layer is scaled: what a search chooses.
struct Scaling {
  WeightRule weights;
  std::string activations;
  bool bias_correction = false;
  bool operator==(const Scaling&) const = default;
};

/// A narrow layer of the first recipe.
struct Candidate {
  LayerDecision decision;
  Rule rule;           ///< that the first recipe has for it, with the scaling chosen
  double noise = 0;    ///< share of the logits' power, where it alone is narrow
  bool narrow = true;  ///< not given back
};

/// In words: "percentile 99.999".
std::string text(const Rule& rule) {
  std::string text =
      fmt::format("weights {} {}", name(rule.weights.granularity), name(rule.weights.observer));
  if (rule.precision != Precision::nvfp4) text += ", activations " + rule.activations;
  if (rule.bias_correction) text += ", bias corrected";
  std::ranges::replace(text, '_', ' ');
  return text;
}

/// The last rule that takes the layer.
const Rule& rule_of(const Recipe& recipe, const graph::Graph& graph, const std::string& layer) {
  const auto node = std::ranges::find(graph.nodes, layer, &graph::Node::name);
  for (auto rule = recipe.rules.rbegin(); rule != recipe.rules.rend(); ++rule)
    if (node != graph.nodes.end() && matches(*rule, *node)) return *rule;
  fail(ErrorKind::internal, "no rule of '{}' takes the layer '{}'", recipe.name, layer);
}

class Searcher {
 public:
  Searcher(const graph::Graph& wide, const Recipe& from, const Calibration& calibration,
           const ImageSet& images, const RunOptions& options)
      : wide_(wide),
        from_(from),
        calibration_(calibration),
        images_(images),
        options_(options),
        classes_(classes_of(wide)),
        reference_(run_images(wide, images, options)) {}

  SearchResult run(const SearchBudget& budget) {
    start(budget);
    const std::vector<Candidate> first = candidates_;
    for (Candidate& candidate : candidates_) choose_scaling(candidate);
    result_.sqnr_db = measure(recipe());
    result_.steps.push_back({"", "every layer as chosen", result_.sqnr_db});
    if (result_.sqnr_db < result_.start_db) keep_first_scalings(first);
    give_back(budget.keep_multiply_adds);
    result_.recipe = recipe();
    result_.kept = narrow_multiply_adds() / all_multiply_adds_;
    result_.met = result_.sqnr_db >= result_.budget_db;
    return std::move(result_);
  }

 private:
  void start(const SearchBudget& budget) {
    const Quantized first = quantize(wide_, from_, &calibration_);
    for (const LayerDecision& decision : narrow_layers(first.layers)) {
      // What the base makes narrow has no rule, and nothing to go back to.
      if (decision.precision != from_.precision || from_.precision == from_.base) continue;
      candidates_.push_back({decision, own_rule(decision.layer)});
      all_multiply_adds_ += decision.multiply_adds;
    }
    keep_others(first.layers);
    if (candidates_.empty() || from_.precision == Precision::fp32)
      fail(ErrorKind::bad_input, "recipe '{}' makes no layer narrow: there is nothing to search",
           from_.name);
    result_.start_db = measure(from_);
    result_.budget_db = budget.sqnr_db > 0 ? budget.sqnr_db : result_.start_db + budget.gain_db;
    result_.steps.push_back({"", fmt::format("the recipe {}", from_.name), result_.start_db});
  }

  /// What the first recipe has for the layer, as a rule for it alone.
  [[nodiscard]] Rule own_rule(const std::string& layer) const {
    Rule rule = rule_of(from_, wide_, layer);
    rule.roles.clear();
    rule.layers = {layer};
    rule.except.clear();
    rule.optional = false;
    return rule;
  }

  /// Layers that rules have at another precision than the base and that are not searched.
  void keep_others(std::span<const LayerDecision> layers) {
    for (const LayerDecision& decision : layers) {
      const bool searched = std::ranges::any_of(candidates_, [&](const Candidate& candidate) {
        return candidate.decision.layer == decision.layer;
      });
      if (searched || decision.precision == from_.base || !decision.reason.starts_with("rule "))
        continue;
      others_.push_back(own_rule(decision.layer));
    }
  }

  /// The first recipe without its rules, then one a layer that is not searched and has a precision
  /// of its own, and one a narrow layer.
  [[nodiscard]] Recipe recipe() const {
    Recipe made;
    made.name = "auto";
    made.description = fmt::format("found by a search that started from {}", from_.name);
    made.precision = from_.precision;
    made.base = from_.base;
    made.rules = others_;
    for (const Candidate& candidate : candidates_)
      if (candidate.narrow) made.rules.push_back(candidate.rule);
    return made;
  }

  double measure(const Recipe& recipe) const {
    return logit_error(reference_,
                       run_images(quantize(wide_, recipe, &calibration_).graph, images_, options_),
                       classes_)
        .sqnr_db;
  }

  /// Noise in the logits where one rule alone applies, as a share of their power.
  [[nodiscard]] double noise(const Rule& rule) const {
    Recipe alone = recipe();
    alone.base = Precision::fp32;
    alone.rules = {rule};
    const auto logits = run_images(quantize(wide_, alone, &calibration_).graph, images_, options_);
    double signal = 0;
    double sum = 0;
    for (const ImageError& error : image_errors(reference_, logits, classes_)) {
      signal += error.signal;
      sum += error.noise;
    }
    return sum / signal;
  }

  /// Keeps `changed` where it is less noisy.
  void try_rule(Candidate& candidate, Rule changed) const {
    if (changed == candidate.rule) return;
    const double changed_noise = noise(changed);
    if (changed_noise < candidate.noise) {
      candidate.noise = changed_noise;
      candidate.rule = std::move(changed);
    }
  }

  /// Weights first, then activations with the best weights, then the bias: sums of choices, not
  /// products.
  void choose_scaling(Candidate& candidate) {
    const std::string before = text(candidate.rule);
    candidate.noise = noise(candidate.rule);
    const Rule first = candidate.rule;
    for (const WeightRule& weights : weight_rules(first)) {
      Rule changed = first;
      changed.weights = weights;
      try_rule(candidate, changed);
    }
    const Rule best = candidate.rule;
    for (const std::string& observer : activation_observers(first)) {
      Rule changed = best;
      changed.activations = observer;
      try_rule(candidate, changed);
    }
    Rule corrected = candidate.rule;
    corrected.bias_correction = std::holds_alternative<graph::Linear>(operator_of(candidate)) ||
                                std::holds_alternative<graph::Conv2d>(operator_of(candidate));
    try_rule(candidate, corrected);
    const std::string after = text(candidate.rule);
    result_.steps.push_back({candidate.decision.layer,
                             before == after ? before : before + " → " + after,
                             decibels(1, candidate.noise)});
  }

  /// What is best for each layer alone need not be best for all together.
  void keep_first_scalings(const std::vector<Candidate>& first) {
    for (std::size_t i = 0; i < first.size(); ++i) candidates_[i].rule = first[i].rule;
    result_.sqnr_db = measure(recipe());
    result_.steps.push_back({"",
                             fmt::format("every layer as in {}, which is less noisy", from_.name),
                             result_.sqnr_db});
  }

  [[nodiscard]] const graph::Operator& operator_of(const Candidate& candidate) const {
    return std::ranges::find(wide_.nodes, candidate.decision.layer, &graph::Node::name)->op;
  }

  [[nodiscard]] std::vector<WeightRule> weight_rules(const Rule& rule) const {
    if (rule.precision == Precision::nvfp4)
      return {{Granularity::block, WeightObserver::max}, {Granularity::block, WeightObserver::mse}};
    if (rule.precision == Precision::int8)
      return {{Granularity::channel, WeightObserver::max},
              {Granularity::channel, WeightObserver::mse}};
    return {{Granularity::tensor, WeightObserver::mse},
            {Granularity::channel, WeightObserver::max},
            {Granularity::channel, WeightObserver::mse}};
  }

  /// Those of a few that the calibration has.
  [[nodiscard]] std::vector<std::string> activation_observers(const Rule& rule) const {
    std::vector<std::string> observers;
    if (rule.precision == Precision::nvfp4) return observers;
    for (const char* observer : {"max", "mse", "percentile_99.999"})
      if (std::ranges::count(calibration_.source.observers, observer) != 0)
        observers.emplace_back(observer);
    return observers;
  }

  [[nodiscard]] double narrow_multiply_adds() const {
    double sum = 0;
    for (const Candidate& candidate : candidates_)
      if (candidate.narrow) sum += candidate.decision.multiply_adds;
    return sum;
  }

  /// The noisiest per multiply-add of those that may go; null where none may.
  Candidate* next_to_go(double least_multiply_adds) {
    Candidate* found = nullptr;
    const double left = narrow_multiply_adds();
    for (Candidate& candidate : candidates_) {
      if (!candidate.narrow || left - candidate.decision.multiply_adds < least_multiply_adds)
        continue;
      const auto rate = [](const Candidate& of) {
        return of.noise / std::max(1.0, of.decision.multiply_adds);
      };
      if (found == nullptr || rate(candidate) > rate(*found)) found = &candidate;
    }
    return found;
  }

  /// One layer at a time, measured each time. At least one stays, for a recipe must match a layer.
  void give_back(double keep) {
    const double least = std::max(keep * all_multiply_adds_, std::numeric_limits<double>::min());
    while (result_.sqnr_db < result_.budget_db) {
      Candidate* candidate = next_to_go(least);
      if (candidate == nullptr) return;
      candidate->narrow = false;
      result_.sqnr_db = measure(recipe());
      result_.steps.push_back({candidate->decision.layer,
                               fmt::format("back to {}", graph::name(from_.base)),
                               result_.sqnr_db});
    }
  }

  const graph::Graph& wide_;
  const Recipe& from_;
  const Calibration& calibration_;
  const ImageSet& images_;
  const RunOptions& options_;
  std::size_t classes_;
  std::vector<float> reference_;
  std::vector<Candidate> candidates_;
  std::vector<Rule> others_;
  double all_multiply_adds_ = 0;
  SearchResult result_;
};

}  // namespace

SearchResult search(const graph::Graph& wide, const Recipe& from, const Calibration& calibration,
                    const ImageSet& images, const SearchBudget& budget, const RunOptions& options) {
  return Searcher(wide, from, calibration, images, options).run(budget);
}

}  // namespace assay::quant
