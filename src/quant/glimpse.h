#pragma once
/// What one image shows of the values that are watched, and what becomes of it over all images.
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "quant/calibration.h"

namespace assay::quant {

/// One value of one image.
struct ValueGlimpse {
  /// Nothing seen: low > high.
  Range range{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  std::vector<float> channel_max;   ///< largest magnitudes
  std::vector<double> channel_sum;  ///< of all positions
  std::uint64_t positions = 0;

  [[nodiscard]] bool empty() const { return range.low > range.high; }
  [[nodiscard]] float largest() const;
};

/// All watched values of one image.
struct Glimpse {
  std::vector<ValueGlimpse> values;
};

/// The smallest and the largest of `numbers`; with a number among them that is not finite or beyond
/// kLargestMagnitude, an end is so or `low` is NaN.
Range range_of_numbers(std::span<const float> numbers);

/// Looks at rows of `channels` numbers.
void see_channels(std::span<const float> numbers, std::size_t channels, ValueGlimpse& glimpse);

/// The observers that need no histogram, of one value: what its glimpses came to, taken in the
/// order of the images.
class ValueStats {
 public:
  void add(const ValueGlimpse& glimpse);

  [[nodiscard]] Range max() const { return range_; }
  /// The exponential mean of each image's smallest and largest number, kMomentum of what was before
  /// and the rest of the new; the first image's as they are. B. Jacob et al., "Quantization and
  /// Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
  /// arXiv:1712.05877, section 3.1.
  [[nodiscard]] Range moving_average() const;
  static constexpr double kMomentum = 0.9;

  [[nodiscard]] const std::vector<float>& channel_max() const { return channel_max_; }
  [[nodiscard]] std::vector<float> channel_mean() const;

 private:
  Range range_;
  double average_low_ = 0;
  double average_high_ = 0;
  std::vector<float> channel_max_;
  std::vector<double> channel_sum_;
  std::uint64_t positions_ = 0;
  bool any_ = false;
};

}  // namespace assay::quant
