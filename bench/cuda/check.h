#pragma once
/// Whether a network computes on the device what it computes on the cpu backend, looked at before
/// anything is timed.
#include <map>
#include <string>
#include <vector>

#include "network.h"

namespace assay::bench {

/// The largest batch of which every value is compared; of larger ones the logits are.
inline constexpr int kTracedImages = 4;

/// What a network's values are on the cpu backend at level 0, and its logits there.
struct Expected {
  std::map<std::string, std::vector<float>> values;  ///< of kTracedImages images, by value name
  std::vector<float> logits;                         ///< of the largest batch
};

/// Of random images, the first of which every Subject has. Takes all cores.
Expected expect(const Network& network, int largest_batch);

/// How far one subject is off, step by step and in whole calls. Errors are ‖found - expected‖ /
/// ‖expected‖ over a value of all images; what is not finite is infinitely far off.
struct Check {
  double worst = 0;  ///< of all values
  std::string worst_value;
  double logits = 0;       ///< the worst of the logits of calls with the whole batch
  double logits_sqnr = 0;  ///< the same in dB: 20 · log10(1 / logits)
  double tolerance = 0;
  /// Values.
  int compared = 0;
  std::vector<std::string> unknown{};  ///< values that the cpu backend does not materialize
  [[nodiscard]] bool passed() const { return worst <= tolerance && logits <= tolerance; }
};
Check check(Subject& subject, const Expected& expected);

/// What errors of a network at its precision may reach, and why: see check.cpp.
double tolerance_of(const Network& network);

}  // namespace assay::bench
