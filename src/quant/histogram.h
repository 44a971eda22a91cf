#pragma once
/// How often numbers were seen, in fixed memory, whatever the numbers and however many.
#include <cstdint>
#include <span>
#include <vector>

namespace assay::quant {

/// kSide bins of one width on either side of 0. The width is a power of two; it doubles, by merging
/// pairs of bins, until the largest number fits, so it ends at (largest magnitude) / kSide to twice
/// that. Which bin a number ends in depends on the final width alone, so neither order nor the way
/// in which numbers were shared out over histograms that are merged changes anything.
class Histogram {
 public:
  static constexpr int kSide = 4096;

  Histogram();

  /// Counts `numbers`, none of which is of a larger magnitude than `largest`, which is finite.
  void add(std::span<const float> numbers, float largest);
  /// Counts all that `other` has.
  void merge(const Histogram& other);

  /// Bin i counts the numbers of [edge(i), edge(i + 1)). 2 × kSide of them.
  [[nodiscard]] std::span<const std::uint64_t> bins() const { return bins_; }
  [[nodiscard]] double width() const;
  [[nodiscard]] double edge(int bin) const { return (bin - kSide) * width(); }
  [[nodiscard]] double center(int bin) const { return (bin - kSide + 0.5) * width(); }
  /// The bin that holds `number`, or the nearest one.
  [[nodiscard]] int bin_of(double number) const;
  [[nodiscard]] std::uint64_t total() const;

 private:
  void widen_to(int exponent);

  int exponent_;  ///< the bins span [-2^exponent, 2^exponent)
  std::vector<std::uint64_t> bins_;
};

}  // namespace assay::quant
