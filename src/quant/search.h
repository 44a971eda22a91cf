#pragma once
/// Finding a recipe within a budget of noise.
///
/// Each layer alone is tried with several ways to scale it, and keeps the one with the least noise
/// in the logits, unless all of those together are noisier than the first recipe's. Then layers go
/// back to the base, the noisiest per multiply-add first, until the whole network meets the budget
/// or no further layer may go.
#include <functional>
#include <string>
#include <vector>

#include "quant/calibration.h"
#include "quant/recipe.h"
#include "quant/run_images.h"

namespace assay::quant {

struct SearchBudget {
  double sqnr_db = 0;  ///< SQNR of the logits to reach; where 0, gain_db counts
  double gain_db = 0;  ///< above that of the recipe which the search starts from
  /// Share of the first recipe's narrow multiply-adds that stays narrow whatever comes.
  double keep_multiply_adds = 0;
};

struct SearchStep {
  std::string layer;   ///< empty: of the whole network
  std::string change;  ///< "tensor max, max → channel mse, mse", "back to fp16"
  double sqnr_db = 0;  ///< after it: of the layer alone where it chose scales, else of the network
};

struct SearchResult {
  /// Named "auto"; one rule a layer that stays narrow, and one for each other layer that a rule of
  /// the first recipe has at another precision than the base.
  Recipe recipe;
  std::vector<SearchStep> steps;
  double start_db = 0;   ///< of the recipe that the search started from
  double budget_db = 0;  ///< what was to be reached
  double sqnr_db = 0;    ///< what was
  double kept = 0;       ///< share of the first recipe's narrow multiply-adds
  bool met = false;
};

/// Everything is measured on `images`, which should be calibration images: what a result is judged
/// on must not have chosen it. Deterministic. Throws bad_input for a recipe that makes no
/// layer narrower than its base, and as quantize() and run_images().
SearchResult search(const graph::Graph& wide, const Recipe& from, const Calibration& calibration,
                    const ImageSet& images, const SearchBudget& budget, const RunOptions& options);

}  // namespace assay::quant
