#pragma once
/// Counting how right logits are, image after image.
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/evaluate.h"

namespace assay::pipeline {

/// Index of the largest; of equal ones the lowest. NaN is never it, unless all are.
int best_of(std::span<const float> logits);

/// Whether fewer than `k` classes come before `label`: those with a larger logit, and of equal ones
/// those with a lower index.
bool among_best(std::span<const float> logits, int label, int k);

/// Adds up what the report says. Not thread-safe; the order of add() decides the last bits of the
/// mean.
class Score {
 public:
  /// `reference` is empty where there is none.
  void add(std::span<const float> logits, int label, std::span<const float> reference);
  /// Fills the counts of `report`, and its reference part where `with_reference`.
  void report(EvalReport& report, bool with_reference) const;

 private:
  void compare(std::span<const float> logits, std::span<const float> reference);

  std::uint64_t images_ = 0;
  std::uint64_t top1_ = 0;
  std::uint64_t top5_ = 0;
  std::uint64_t nonfinite_ = 0;
  std::uint64_t agreeing_ = 0;
  std::uint64_t compared_logits_ = 0;
  double max_difference_ = 0;
  double sum_of_differences_ = 0;
  std::vector<double> disagreeing_margins_;  ///< the reference's, where the top-1 differs
};

}  // namespace assay::pipeline
