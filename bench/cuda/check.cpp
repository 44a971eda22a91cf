#include "check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"

namespace assay::bench {
namespace {

/// ‖found - expected‖ / ‖expected‖; infinite where a number of `found` is not finite, and where
/// something was found and nothing was expected.
double relative_error(std::span<const float> found, std::span<const float> expected) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double off = static_cast<double>(found[i]) - static_cast<double>(expected[i]);
    difference += off * off;
    size += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  if (difference == 0) return 0;
  const double error = std::sqrt(difference / size);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

void compare_values(Subject& subject, const Expected& expected, Check& check) {
  const int images = std::min(subject.batch, kTracedImages);
  const std::size_t pixels = subject.network->pixels() * static_cast<std::size_t>(images);
  const auto compare = [&](const graph::Value& value, int, std::span<const float> found) {
    const auto known = expected.values.find(value.name);
    if (known == expected.values.end()) {
      check.unknown.push_back(value.name);
      return;
    }
    if (found.size() > known->second.size()) {
      fail(ErrorKind::internal, "{}: {} has {} numbers for {} images, at most {} were expected",
           subject.network->title(), value.name, found.size(), images, known->second.size());
    }
    ++check.compared;
    const double error = relative_error(found, known->second);
    if (error < check.worst) return;
    check.worst = error;
    check.worst_value = value.name;
  };
  subject.session->trace({std::span(subject.rgb).first(pixels), {}}, images, compare);
  if (check.compared == 0) {
    fail(ErrorKind::internal, "{}: no value of the plan could be compared",
         subject.network->title());
  }
}

/// Runs the whole batch over poisoned logits: what a call does not write is not finite. Twice each
/// from pixels and from normalized numbers, which take another way to the device.
void compare_logits(Subject& subject, const Expected& expected, Check& check) {
  for (int run = 0; run < 4; ++run) {
    std::ranges::fill(subject.logits, std::numeric_limits<float>::quiet_NaN());
    run % 2 == 0 ? subject.call() : subject.call_normalized();
    check.logits = std::max(check.logits, relative_error(subject.logits, expected.logits));
  }
  check.logits_sqnr = -20 * std::log10(check.logits);
}

}  // namespace

/// - fp32: sums in another order, √K · 2⁻²⁴ each and some hundred steps; no TF32.
/// - fp16, bf16, nvfp4: activations that are stored as fp16 are rounded at each of some 200 steps,
///   2⁻¹² of themselves in the mean (bf16: operands alone, 2⁻⁹, where a sum falls on the other side
///   of a tie), and add up as random errors do.
/// - fp8: a number that falls on the other side of a tie of E4M3 is up to an eighth off; the cpu
///   backend quantizes fp32 numbers and the device fp16 ones, so about one in a hundred does.
double tolerance_of(const Network& network) {
  const auto precision = graph::precision_from_name(network.bundle.precision);
  if (precision == graph::Precision::fp32) return 1e-4;
  return precision == graph::Precision::fp8 ? 1e-1 : 2e-2;
}

Expected expect(const Network& network, int largest_batch) {
  Expected expected;
  const int images = std::max(largest_batch, kTracedImages);
  const auto plan = lower(network, {"cpu", 0}, 0, images);
  const auto session = plan->make_session();
  const std::vector<std::uint8_t> rgb = random_images(network, images);
  expected.logits.resize(network.classes() * static_cast<std::size_t>(images));
  session->run({rgb, {}}, images, {expected.logits, {}});
  const std::size_t traced = network.pixels() * static_cast<std::size_t>(kTracedImages);
  session->trace({std::span(rgb).first(traced), {}}, kTracedImages,
                 [&](const graph::Value& value, int, std::span<const float> numbers) {
                   expected.values[value.name].assign(numbers.begin(), numbers.end());
                 });
  return expected;
}

Check check(Subject& subject, const Expected& expected) {
  Check check;
  check.tolerance = tolerance_of(*subject.network);
  compare_values(subject, expected, check);
  compare_logits(subject, expected, check);
  return check;
}

}  // namespace assay::bench
